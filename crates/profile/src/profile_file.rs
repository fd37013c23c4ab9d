//! [`Profile::to_bytes`] and [`Profile::from_bytes`]: the file of a profile, `NAME.rlprof`. Equal
//! profiles give equal bytes.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | the mark `8F 72 6C 70 72 6F 66 0A` (`\x8Frlprof\n`) |
//! | 8 | 4 | version of the form, now 1 |
//! | 12 | 4 | CRC-32 of everything after it |
//! | 16 | 8 | length of the body before compression |
//! | 24 | 8 | length of the body as it follows |
//! | 32 | | the body: [`Profile`] as JSON, compressed with Zstandard |
//!
//! Numbers are little endian. Histograms are stored as steps between the distances that occur.

use thiserror::Error;

use crate::framed::{FrameError, Framed};
use crate::{Context, ObjectPart, Profile};

const FORM: Framed = Framed {
    mark: *b"\x8Frlprof\n",
    version: 1,
    // A few times faster than writing uncompressed to most disks.
    level: 3,
    largest: 4 << 30,
};

/// A profile that cannot be read. The messages do not name the file: the caller that opened it
/// does.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// It does not begin with the mark of a profile.
    #[error(
        "this is not a reuselens profile: it does not begin with the mark of one; make one with `reuselens profile -- PROGRAM`, or from a trace with `reuselens analyze TRACE`"
    )]
    NotAProfile,
    /// A later reuselens wrote it.
    #[error(
        "this profile has form {found}, and this reuselens reads forms up to {known}: a later version wrote it; read it with that version, or make it again with this one"
    )]
    TooNew {
        /// The version of its form.
        found: u32,
        /// The latest version that can be read.
        known: u32,
    },
    /// It ends too early.
    #[error(
        "this profile breaks off: it should have {expected} bytes and has {found}, so it was not written or copied to its end; copy it again, or make it again with `reuselens profile` or `reuselens analyze`"
    )]
    Truncated {
        /// Bytes that it should have.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// Its bytes are not those that were written.
    #[error(
        "this profile is damaged: {0}; copy it again, or make it again with `reuselens profile` or `reuselens analyze`"
    )]
    Corrupted(String),
}

impl ProfileError {
    fn corrupted(what: impl std::fmt::Display) -> Self {
        ProfileError::Corrupted(what.to_string())
    }
}

impl From<FrameError> for ProfileError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::NoMark => ProfileError::NotAProfile,
            FrameError::Version(found) => ProfileError::TooNew {
                found,
                known: FORM.version,
            },
            FrameError::Short { expected, found } => ProfileError::Truncated { expected, found },
            FrameError::Damaged(what) => ProfileError::Corrupted(what),
        }
    }
}

impl Profile {
    /// The bytes of its file. Equal profiles give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // It cannot fail: there are no maps with odd keys.
        FORM.to_bytes(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Reads the bytes of a profile's file. Whatever the bytes are, this returns: its memory is
    /// bounded by the length in its head, at most 4 GiB, and by its histograms.
    ///
    /// # Errors
    /// If the bytes are not those of a complete profile, or an index is out of its table.
    pub fn from_bytes(bytes: &[u8]) -> Result<Profile, ProfileError> {
        let body = FORM.open(bytes)?.unpack(Vec::new())?;
        let profile: Profile = serde_json::from_slice(&body).map_err(ProfileError::corrupted)?;
        profile.check()?;
        Ok(profile)
    }

    /// Whether bytes begin like a profile's file.
    pub fn is_profile(bytes: &[u8]) -> bool {
        FORM.is_in(bytes)
    }

    /// Checks that every index is in its table, and that callers come before the functions they
    /// call.
    fn check(&self) -> Result<(), ProfileError> {
        for (number, cell) in self.cells.iter().enumerate() {
            let tables = [
                ("site", cell.site, self.sites.len()),
                ("object", cell.object, self.objects.len()),
                ("context", cell.context, self.contexts.len()),
                ("thread", cell.thread, self.threads.len()),
            ];
            for (table, index, len) in tables {
                if index as usize >= len {
                    let what = format!("cell {number} names {table} {index}, and there are {len}");
                    return Err(ProfileError::Corrupted(what));
                }
            }
        }
        for (number, object) in self.objects.iter().enumerate() {
            if let Some(part) = object.part.filter(|part| part.start >= part.end) {
                let ObjectPart { start, end, .. } = part;
                let what = format!("object {number} is the part {start}..{end}, which is empty");
                return Err(ProfileError::Corrupted(what));
            }
        }
        if let Some(causes) = &self.causes {
            let (sites, objects) = (self.sites.len(), self.objects.len());
            if sites == 0 || objects == 0 {
                let what = "it has causes, and no sites or objects".to_owned();
                return Err(ProfileError::Corrupted(what));
            }
            let checked = causes.check(sites, objects);
            checked.map_err(ProfileError::Corrupted)?;
        }
        check_tree(&self.contexts)
    }
}

fn check_tree(contexts: &[Context]) -> Result<(), ProfileError> {
    for (index, context) in contexts.iter().enumerate() {
        let parent = context.parent as usize;
        if parent >= index && (index, parent) != (0, 0) {
            let what =
                format!("calling context {index} has the caller {parent}, which is not before it");
            return Err(ProfileError::Corrupted(what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::{Causes, ContextFootprint, Lifetime, PlacementData, SampledUse};
    use reuselens_locality::{BoundedCurve, BoundedPoint};
    use reuselens_units::Bytes;

    fn error(bytes: &[u8]) -> ProfileError {
        Profile::from_bytes(bytes).unwrap_err()
    }

    /// A file around any profile, sound or not.
    fn read_back(change: impl FnOnce(&mut Profile)) -> Result<Profile, ProfileError> {
        let mut profile = testing::profile();
        change(&mut profile);
        Profile::from_bytes(&profile.to_bytes())
    }

    #[test]
    fn profile_file_round_trips() {
        let mut profile = testing::profile();
        profile.method.error_bound = Some(0.1 + 0.2);
        profile.method.error_bounds = Some(BoundedCurve {
            confidence: 0.95,
            rate: 0.01,
            points: vec![BoundedPoint {
                items: 1 << 60,
                miss_ratio: 0.1 + 0.2,
                half_width: 1e-9,
            }],
        });
        profile.cells[0].distance_sum = u128::MAX;
        profile
            .histogram
            .add(reuselens_units::Distance::new(1 << 60), u64::MAX / 2);
        let bytes = profile.to_bytes();
        let again = Profile::from_bytes(&bytes).unwrap();
        assert_eq!(again, profile);
        assert_eq!(again.to_bytes(), bytes);
        assert!(Profile::is_profile(&bytes));
    }

    /// Fields that came later are not written where there is nothing in them, so that such a file
    /// is, to the byte, one that was written before there were any.
    /// Files of earlier versions have the field under this name.
    #[test]
    fn totals_only_is_stored_under_its_old_name() {
        let mut profile = testing::profile();
        let stored = |profile: &Profile| serde_json::to_value(profile).unwrap()["method"].clone();
        assert!(stored(&profile).get("whole").is_none());
        profile.method.totals_only = true;
        assert_eq!(stored(&profile)["whole"], true);
        let read = Profile::from_bytes(&profile.to_bytes()).unwrap();
        assert!(read.method.totals_only);
    }

    #[test]
    fn absent_new_fields_leave_old_bytes_unchanged() {
        let mut profile = testing::profile();
        let text = serde_json::to_string(&profile).unwrap();
        let placement = ["part", "lifetime", "entries", "footprint", "placement"];
        for later in ["reuse_times", "forward", "max_distance"]
            .iter()
            .chain(&placement)
        {
            assert!(!text.contains(&format!("\"{later}\"")), "{later}");
        }
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
        profile.reuse_times = Some(reuselens_locality::ReuseTimeCounts::new().finish([]));
        profile.method.max_distance = Some(9);
        profile.cells[0].forward = profile.cells[0].histogram.clone();
        profile.objects[1].part = Some(ObjectPart {
            start: 64,
            end: 100,
            chunk: 64,
            longest: 100,
        });
        profile.objects[1].lifetime = Some(Lifetime { begin: 1, end: 2 });
        profile.contexts[1].entries = Some(3);
        profile.contexts[1].footprint = Some(ContextFootprint::default());
        profile.method.placement = Some(PlacementData {
            chunk_bytes: Some(4096),
        });
        let again = Profile::from_bytes(&profile.to_bytes()).unwrap();
        assert_eq!(again, profile);
    }

    #[test]
    fn damaged_profile_files_are_refused() {
        let bytes = testing::profile().to_bytes();
        for at in 0..bytes.len() {
            assert!(Profile::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                assert!(
                    Profile::from_bytes(&damaged).is_err(),
                    "bit {bit} of byte {at}"
                );
            }
        }
    }

    #[test]
    fn damage_with_a_right_checksum_is_refused() {
        let bytes = testing::profile().to_bytes();
        for at in 16..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] = damaged[at].wrapping_mul(37).wrapping_add(11);
            let crc = crc32fast::hash(&damaged[16..]).to_le_bytes();
            damaged[12..16].copy_from_slice(&crc);
            // It may still be a profile, if only a name was hit; but it must come back.
            let _ = Profile::from_bytes(&damaged);
        }
    }

    /// A file whose causes are those of a sample, with any digit of its text replaced: it is
    /// refused, or its shares are shares, and it can be merged.
    #[test]
    fn damaged_samples_are_refused_or_sound() {
        let mut profile = testing::profile();
        profile.causes = Some(Causes {
            cache: Bytes(4096),
            sample_rate: Some(0.25),
            sampled_use: vec![
                SampledUse {
                    object: None,
                    items: 90,
                    utilisation: 0.5,
                    half_width: 0.125,
                },
                SampledUse {
                    object: Some(1),
                    ..SampledUse::default()
                },
            ],
            ..Causes::default()
        });
        assert_eq!(Profile::from_bytes(&profile.to_bytes()).unwrap(), profile);
        let text = serde_json::to_string(&profile).unwrap();
        let digits = text.match_indices(|it: char| it.is_ascii_digit() || it == '.');
        let mut refused = 0;
        for (at, _) in digits {
            for digit in ["-", "9", "0", "7e9"] {
                let damaged = [&text[..at], digit, &text[at + 1..]].concat();
                let Ok(read) = Profile::from_bytes(&FORM.to_bytes(damaged.as_bytes())) else {
                    refused += 1;
                    continue;
                };
                let causes = read.causes.clone().unwrap();
                assert!(causes.sampled_use.iter().all(SampledUse::is_sound));
                assert!(Profile::merge(&[read.clone(), read]).is_ok());
            }
        }
        assert!(refused > 100, "{refused}");
    }

    #[test]
    fn profile_errors_name_the_damage() {
        let bytes = testing::profile().to_bytes();
        assert!(matches!(error(b""), ProfileError::NotAProfile));
        assert!(matches!(
            error(b"{\"schema\": 1}"),
            ProfileError::NotAProfile
        ));
        let mut newer = bytes.clone();
        newer[8] = 2;
        assert!(matches!(
            error(&newer),
            ProfileError::TooNew { found: 2, known: 1 }
        ));
        let cut = error(&bytes[..bytes.len() - 1]).to_string();
        assert!(
            cut.contains(&format!("should have {} bytes", bytes.len())),
            "{cut}"
        );
        let more = error(&[&bytes[..], b"xy"].concat()).to_string();
        assert!(more.contains("2 bytes too many"), "{more}");
    }

    #[test]
    fn huge_claimed_lengths_are_refused() {
        let zeros = zstd::bulk::compress(&vec![b' '; 1 << 20], 3).unwrap();
        let inflate = |bytes: &[u8], length| FORM.packed(bytes, length)?.unpack(Vec::new());
        assert!(inflate(&zeros, 1000).is_err());
        assert!(inflate(&zeros, u64::MAX).is_err());
        assert_eq!(inflate(&zeros, 1 << 20).unwrap().len(), 1 << 20);
    }

    #[test]
    fn indices_out_of_range_are_refused() {
        assert!(read_back(|_| ()).is_ok());
        assert!(read_back(|profile| profile.cells[1].site = 3).is_err());
        assert!(read_back(|profile| profile.cells[1].thread = u32::MAX).is_err());
        assert!(read_back(|profile| profile.contexts[2].parent = 2).is_err());
        assert!(read_back(|profile| profile.contexts[0].parent = 1).is_err());
        let empty = ObjectPart::default();
        assert!(read_back(|profile| profile.objects[1].part = Some(empty)).is_err());
        let message = read_back(|profile| profile.objects.truncate(1))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("names object 1, and there are 1"),
            "{message}"
        );
    }
}
