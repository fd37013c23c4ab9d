//! The methods of [`Show`] for `--cache`: the cache whose misses things are ranked by.

use reuselens::AnalysisOptions;
use reuselens::profile::{CacheSize, CacheSpec, Machine, Profile};
use reuselens::units::Granularity;

use crate::exit::Usage;
use crate::output::Show;

impl Show {
    /// The cache to rank by, if one was asked for.
    pub fn cache(&self, profile: &Profile) -> Result<Option<CacheSize>, Usage> {
        let cache = self.cache_of(&profile.machine)?;
        let method = &profile.method;
        self.check_reach(cache, method.ids, profile.granularity, method.max_distance)?;
        Ok(cache)
    }

    /// Fails if the first profile has no distances as long as the cache of the second needs.
    pub fn check_told(&self, before: &Profile, after: &Profile) -> Result<(), Usage> {
        let cache = self.cache_of(&after.machine)?;
        let method = &before.method;
        self.check_reach(cache, method.ids, before.granularity, method.max_distance)
    }

    /// Fails before the work if the result will not have distances as long as the cache needs.
    pub fn check_cache(&self, addresses: bool, options: &AnalysisOptions) -> anyhow::Result<()> {
        let machine = reuselens::this_machine();
        let granularity = match (addresses, options.granularity) {
            (false, _) if options.weigh_bytes => options.weight_unit(),
            (false, _) => Granularity::BYTE,
            (true, asked) => asked
                .or_else(|| machine.line())
                .unwrap_or(Granularity::LINE_64),
        };
        let cache = self.cache_of(&machine)?;
        self.check_reach(cache, !addresses, granularity, options.max_distance)?;
        Ok(())
    }

    fn check_reach(
        &self,
        cache: Option<CacheSize>,
        ids: bool,
        granularity: Granularity,
        reach: Option<u64>,
    ) -> Result<(), Usage> {
        let (Some(cache), Some(text)) = (cache, &self.cache) else {
            return Ok(());
        };
        if ids && matches!(text.parse(), Ok(CacheSpec::Named(_))) {
            return Err(Usage(format!(
                "--cache {text} is a cache of bytes, and the items of this trace are ids, which have no size; give a number of ids, for instance --cache 4096"
            )));
        }
        let items = cache.items(granularity);
        if items == 0 {
            let item = granularity.bytes();
            return Err(Usage(format!(
                "--cache {text} holds not even one item of {item} bytes, so everything would miss; give a larger one, for instance --cache 32K"
            )));
        }
        cache
            .model(granularity)
            .map_err(|error| Usage(format!("--cache {text}: {error}")))?;
        match reach {
            Some(reach) if items > reach => Err(Usage(format!(
                "--cache {text} holds {items} items, and distances of {reach} and more are not measured (--max-distance); ask for a cache of up to {reach} items, or raise --max-distance"
            ))),
            _ => Ok(()),
        }
    }

    /// The cache to rank by, on this machine.
    pub fn cache_of(&self, machine: &Machine) -> Result<Option<CacheSize>, Usage> {
        let Some(text) = &self.cache else {
            return Ok(None);
        };
        let spec: CacheSpec = text
            .parse()
            .map_err(|error| Usage(format!("--cache {text}: {error}")))?;
        let known: Vec<String> = machine.data_caches().iter().map(|c| c.name()).collect();
        spec.on(machine).map(Some).ok_or_else(|| {
            Usage(format!(
                "--cache {text} is neither a size (48K, 2MiB, 48K:12 with its ways) nor a cache of the profile's machine ({})",
                if known.is_empty() { "none known".to_owned() } else { known.join(", ") }
            ))
        })
    }
}
