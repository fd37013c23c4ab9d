//! Copies a stream of warp instructions into text or a Parquet table: `convert` of a `.rlwarp`.
//!
//! Used by the command `convert`. docs/rlwarp.md describes both forms. A damaged stream is copied
//! up to the damage, which [`ConvertedWarps::incomplete`] reports.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use reuselens_trace::TraceError;
use reuselens_warp::{
    KernelSite, Launch, Space, WarpBatch, WarpKind, WarpRow, WarpSource, WarpStep,
};

use crate::parquet::failed;

/// The form to copy a stream into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpTarget {
    /// A line for each record, between lines that begin with `#`.
    Text,
    /// A table with a row for each access of a thread.
    Parquet,
}

/// What was copied of a stream.
#[derive(Debug, Default)]
pub struct ConvertedWarps {
    /// Launches.
    pub launches: u64,
    /// Memory instructions of warps.
    pub records: u64,
    /// Accesses of threads.
    pub accesses: u64,
    /// Why the stream ended early, if it did. The copy is a complete file and holds all before
    /// that.
    pub incomplete: Option<TraceError>,
}

/// Copies `source` to `out`, batch by batch; `path` is for messages only.
///
/// Memory: a batch; for a table also about 60 MiB for rows and columns, 16 MiB for the texts of
/// launches, or those of one launch if they are more, and some kilobytes for each part of the table
/// that is written.
///
/// # Errors
/// `FileError::Io` if `out` cannot be written.
pub fn convert_warps<W: Write + Send>(
    source: &mut dyn WarpSource,
    target: WarpTarget,
    out: W,
    path: &Path,
) -> Result<ConvertedWarps, TraceError> {
    match target {
        WarpTarget::Text => {
            let text = WarpText::new(out, path, &source.describe())?;
            copy(source, text)
        }
        WarpTarget::Parquet => copy(source, WarpTable::new(out, path)?),
    }
}

/// What takes a stream.
trait WarpCopy {
    fn launch(&mut self, number: u32, launch: &Launch) -> Result<(), TraceError>;
    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError>;
    fn finish(self) -> Result<(), TraceError>;
}

fn copy(source: &mut dyn WarpSource, mut out: impl WarpCopy) -> Result<ConvertedWarps, TraceError> {
    let mut done = ConvertedWarps::default();
    let mut batch = WarpBatch::new();
    loop {
        match source.next(&mut batch) {
            Ok(WarpStep::Launch(launch)) => {
                done.launches += 1;
                let number = u32::try_from(done.launches).unwrap_or(u32::MAX);
                out.launch(number, &launch)?;
            }
            Ok(WarpStep::Batch) => {
                done.records += batch.len() as u64;
                done.accesses += batch.accesses() as u64;
                out.batch(&batch)?;
            }
            Ok(WarpStep::End) => break,
            Err(error) => {
                done.incomplete = Some(error);
                break;
            }
        }
    }
    out.finish()?;
    Ok(done)
}

/// How both forms spell a kind.
fn kind_name(kind: WarpKind) -> &'static str {
    match kind {
        WarpKind::Load => "load",
        WarpKind::Store => "store",
        WarpKind::Atomic => "atomic",
    }
}

/// Text with tabs between the fields of a line.
struct WarpText<W> {
    out: W,
    path: PathBuf,
    launch: u32,
    line: Vec<u8>,
}

impl<W: Write> WarpText<W> {
    fn new(out: W, path: &Path, description: &str) -> Result<WarpText<W>, TraceError> {
        let mut text = WarpText {
            out,
            path: path.to_owned(),
            launch: 0,
            line: Vec::new(),
        };
        let columns =
            "launch\tblock\twarp\tphase\tposition\tsite\tspace\tkind\tbytes\tlanes\taddresses";
        let head = format!("# {}\n# {columns}\n", one_line(description));
        text.write(head.as_bytes())?;
        Ok(text)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        let written = self.out.write_all(bytes);
        written.map_err(|error| TraceError::io("write", &self.path, error))
    }
}

/// A text without tabs and line breaks.
fn one_line(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

impl<W: Write> WarpCopy for WarpText<W> {
    fn launch(&mut self, number: u32, launch: &Launch) -> Result<(), TraceError> {
        self.launch = number;
        let (grid, block) = (launch.grid, launch.block);
        let kernel = one_line(&launch.kernel);
        let mut head = format!(
            "# launch\t{number}\t{kernel}\tgrid\t{},{},{}\tblock\t{},{},{}",
            grid.x, grid.y, grid.z, block.x, block.y, block.z
        );
        if let Some(used) = launch.used {
            let (fixed, added) = (used.static_shared, used.dynamic_shared);
            head.push_str(&format!("\tstatic\t{fixed}\tdynamic\t{added}"));
        }
        head.push('\n');
        for array in &launch.arrays[..] {
            let bytes = array
                .bytes
                .map_or_else(String::new, |bytes| bytes.to_string());
            let name = one_line(&array.name);
            head.push_str(&format!("# array\t{name}\t{}\t{bytes}\n", array.start));
        }
        for (number, site) in launch.sites.iter().enumerate() {
            let (place, text) = (one_line(&site.place), one_line(&site.text));
            head.push_str(&format!("# site\t{number}\t{place}\t{text}\n"));
        }
        self.write(head.as_bytes())
    }

    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError> {
        let mut line = std::mem::take(&mut self.line);
        for row in batch.rows() {
            line.clear();
            // Writing into memory does not fail.
            let _ = write!(
                line,
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:#x}\t",
                self.launch,
                row.block,
                row.warp,
                row.phase,
                row.position,
                row.site,
                row.space.name(),
                kind_name(row.kind),
                row.bytes,
                row.mask
            );
            for (at, address) in row.addresses.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(line, "{comma}{address:#x}");
            }
            line.push(b'\n');
            self.write(&line)?;
        }
        self.line = line;
        Ok(())
    }

    fn finish(mut self) -> Result<(), TraceError> {
        let flushed = self.out.flush();
        flushed.map_err(|error| TraceError::io("write", &self.path, error))
    }
}

/// Rows of a row group.
const GROUP: usize = 1 << 20;
/// Values of a column that are made at once.
const PART: usize = 8 << 10;
/// Launches whose rows wait to be written, at most.
const MOST_LAUNCHES: usize = 4096;
/// Bytes of the texts of these launches, at most. One launch may have more.
const MOST_TEXTS: usize = 16 << 20;

const SCHEMA: &str = "message accesses {
    REQUIRED INT32 launch (INTEGER(32, false));
    REQUIRED BYTE_ARRAY kernel (STRING);
    REQUIRED INT32 block (INTEGER(32, false));
    REQUIRED INT32 warp (INTEGER(32, false));
    REQUIRED INT32 lane (INTEGER(8, false));
    REQUIRED INT32 phase (INTEGER(32, false));
    REQUIRED INT64 position (INTEGER(64, false));
    REQUIRED INT32 site (INTEGER(32, false));
    REQUIRED BYTE_ARRAY place (STRING);
    REQUIRED BYTE_ARRAY instruction (STRING);
    REQUIRED BYTE_ARRAY space (STRING);
    REQUIRED BYTE_ARRAY kind (STRING);
    REQUIRED INT32 size (INTEGER(8, false));
    REQUIRED INT64 address (INTEGER(64, false));
}";

/// An access of a thread.
#[derive(Clone, Copy)]
struct TableRow {
    /// Index into the launches that wait.
    launch: u32,
    block: u32,
    warp: u32,
    phase: u32,
    position: u64,
    site: u32,
    address: u64,
    lane: u8,
    size: u8,
    space: Space,
    kind: WarpKind,
}

/// Place and instruction of each site of a kernel.
#[derive(Debug)]
struct SiteTexts(Vec<[ByteArray; 2]>);

impl SiteTexts {
    fn of(sites: &[KernelSite]) -> SiteTexts {
        let texts = |site: &KernelSite| [site.place.as_str().into(), site.text.as_str().into()];
        SiteTexts(sites.iter().map(texts).collect())
    }

    /// Whether they are those of `sites`.
    fn are_of(&self, sites: &[KernelSite]) -> bool {
        let is_same = |(known, site): (&[ByteArray; 2], &KernelSite)| {
            known[0].data() == site.place.as_bytes() && known[1].data() == site.text.as_bytes()
        };
        self.0.len() == sites.len() && self.0.iter().zip(sites).all(is_same)
    }
}

/// Bytes that [`SiteTexts`] take.
fn text_bytes(sites: &[KernelSite]) -> usize {
    let texts = sites.iter().map(|site| site.place.len() + site.text.len());
    texts.sum::<usize>() + size_of::<[ByteArray; 2]>() * sites.len()
}

/// The texts of a launch, which are the same in all its rows.
struct LaunchTexts {
    number: u32,
    kernel: ByteArray,
    /// Launches with equal sites share them.
    sites: Arc<SiteTexts>,
}

impl LaunchTexts {
    /// Place (0) or instruction (1) of a site; empty where the code is not known.
    fn site(&self, site: u32, which: usize) -> ByteArray {
        let site = self.sites.0.get(site as usize);
        site.map_or_else(|| "".into(), |site| site[which].clone())
    }
}

/// Gives `write` the values of rows, some thousands at a time.
fn in_parts<T>(
    rows: &[TableRow],
    value: impl Fn(&TableRow) -> T,
    mut write: impl FnMut(&[T]) -> Result<usize, ParquetError>,
) -> Result<(), ParquetError> {
    for part in rows.chunks(PART) {
        let values: Vec<T> = part.iter().map(&value).collect();
        write(&values)?;
    }
    Ok(())
}

/// A table with a row for each access of a thread.
struct WarpTable<W: Write + Send> {
    table: SerializedFileWriter<W>,
    path: PathBuf,
    rows: Vec<TableRow>,
    /// Of the rows; the last is the launch that is copied.
    launches: Vec<LaunchTexts>,
    /// The different sites of these launches.
    sites: Vec<Arc<SiteTexts>>,
    /// Bytes of the texts of both.
    text_bytes: usize,
}

impl<W: Write + Send> WarpTable<W> {
    fn new(out: W, path: &Path) -> Result<WarpTable<W>, TraceError> {
        Ok(WarpTable {
            table: begin(out).map_err(|error| failed(path, error))?,
            path: path.to_owned(),
            rows: Vec::new(),
            launches: Vec::new(),
            sites: Vec::new(),
            text_bytes: 0,
        })
    }

    fn push(&mut self, row: &WarpRow<'_>) {
        let launch = self.launches.len().saturating_sub(1) as u32;
        let lanes = (0..32).filter(|lane| row.mask >> lane & 1 != 0);
        let rows = lanes.zip(row.addresses).map(|(lane, &address)| TableRow {
            launch,
            block: row.block,
            warp: row.warp,
            phase: row.phase,
            position: row.position,
            site: row.site,
            address,
            lane,
            size: row.bytes,
            space: row.space,
            kind: row.kind,
        });
        self.rows.extend(rows);
    }

    /// Writes the rows that wait as a row group.
    fn flush(&mut self) -> Result<(), TraceError> {
        if !self.rows.is_empty() {
            let written = self.group();
            written.map_err(|error| failed(&self.path, error))?;
            self.rows.clear();
        }
        Ok(())
    }

    /// The texts of these sites, if a launch that waits has them.
    fn known_sites(&self, sites: &[KernelSite]) -> Option<Arc<SiteTexts>> {
        // Launches repeat the last kernels most often.
        let mut latest = self.sites.iter().rev();
        latest.find(|known| known.are_of(sites)).map(Arc::clone)
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let (rows, launches) = (&self.rows, &self.launches);
        let of = |row: &TableRow| &launches[row.launch as usize];
        let place = |row: &TableRow| of(row).site(row.site, 0);
        let instruction = |row: &TableRow| of(row).site(row.site, 1);
        let narrow: [&dyn Fn(&TableRow) -> u32; 7] = [
            &|row| of(row).number,
            &|row| row.block,
            &|row| row.warp,
            &|row| row.lane.into(),
            &|row| row.phase,
            &|row| row.site,
            &|row| row.size.into(),
        ];
        let wide: [&dyn Fn(&TableRow) -> u64; 2] = [&|row| row.position, &|row| row.address];
        let texts: [&dyn Fn(&TableRow) -> ByteArray; 5] = [
            &|row| of(row).kernel.clone(),
            &place,
            &instruction,
            &|row| row.space.name().into(),
            &|row| kind_name(row.kind).into(),
        ];
        let (mut narrow, mut wide, mut texts) =
            (narrow.into_iter(), wide.into_iter(), texts.into_iter());
        let mut group = self.table.next_row_group()?;
        while let Some(mut column) = group.next_column()? {
            match column.untyped() {
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let Some(value) = narrow.next() else { break };
                    let value = |row: &TableRow| value(row).cast_signed();
                    in_parts(rows, value, |values| writer.write_batch(values, None, None))?;
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let Some(value) = wide.next() else { break };
                    let value = |row: &TableRow| value(row).cast_signed();
                    in_parts(rows, value, |values| writer.write_batch(values, None, None))?;
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let Some(value) = texts.next() else { break };
                    in_parts(rows, value, |values| writer.write_batch(values, None, None))?;
                }
                _ => {}
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl<W: Write + Send> WarpCopy for WarpTable<W> {
    fn launch(&mut self, number: u32, launch: &Launch) -> Result<(), TraceError> {
        let known = self.known_sites(&launch.sites);
        let new_bytes = known
            .as_ref()
            .map_or_else(|| text_bytes(&launch.sites), |_| 0);
        let more = launch.kernel.len() + new_bytes;
        if self.launches.len() >= MOST_LAUNCHES || self.text_bytes + more > MOST_TEXTS {
            self.flush()?;
            self.launches.clear();
            self.sites.clear();
            self.text_bytes = 0;
        }
        let sites = known.unwrap_or_else(|| Arc::new(SiteTexts::of(&launch.sites)));
        self.text_bytes += launch.kernel.len();
        if !self.sites.iter().any(|known| Arc::ptr_eq(known, &sites)) {
            self.text_bytes += text_bytes(&launch.sites);
            self.sites.push(Arc::clone(&sites));
        }
        self.launches.push(LaunchTexts {
            number,
            kernel: launch.kernel.as_str().into(),
            sites,
        });
        Ok(())
    }

    /// Records before the first launch, which no source delivers, are dropped.
    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError> {
        if self.launches.is_empty() {
            return Ok(());
        }
        for row in batch.rows() {
            self.push(&row);
            if self.rows.len() + 32 > GROUP {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), TraceError> {
        self.flush()?;
        let path = self.path;
        let out = self.table.into_inner();
        let mut out = out.map_err(|error| failed(&path, error))?;
        out.flush()
            .map_err(|error| TraceError::io("write", &path, error))
    }
}

fn begin<W: Write + Send>(out: W) -> Result<SerializedFileWriter<W>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP))
        .set_column_dictionary_enabled("address".into(), false)
        .set_column_encoding("address".into(), Encoding::DELTA_BINARY_PACKED)
        .build();
    SerializedFileWriter::new(out, schema, Arc::new(properties))
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;
    use reuselens_warp::{Extent, WarpAccess};

    use super::*;

    /// Launches of kernels with a MiB of texts each: first two in turn, then a new one each time.
    #[test]
    fn texts_of_launches_are_shared_and_bounded() {
        let kernel = |number: u32| match number {
            0..100 => number % 2,
            number => number,
        };
        let place = |number: u32| format!("k{}.cu:7", kernel(number));
        let file = tempfile::tempfile().unwrap();
        let mut table = WarpTable::new(file.try_clone().unwrap(), "t".as_ref()).unwrap();
        for number in 0..140 {
            let site = KernelSite {
                place: place(number),
                text: "t".repeat(1 << 20),
                ..KernelSite::default()
            };
            let launch = Launch {
                kernel: format!("kernel {}", kernel(number)),
                grid: Extent::line(1),
                block: Extent::line(32),
                used: None,
                arrays: Arc::default(),
                sites: [site].into(),
            };
            table.launch(number, &launch).unwrap();
            if number < 100 {
                assert_eq!(table.sites.len(), 2.min(number as usize + 1));
            }
            let texts = table.sites.iter().flat_map(|sites| &sites.0).flatten();
            let bytes: usize = texts.map(ByteArray::len).sum();
            assert!(bytes <= table.text_bytes && table.text_bytes <= MOST_TEXTS);
            let mut batch = WarpBatch::new();
            batch.push(&WarpAccess {
                site: 0,
                phase: 0,
                position: 1,
                block: 0,
                warp: 0,
                mask: 1,
                space: Space::Global,
                kind: WarpKind::Load,
                bytes: 4,
                addresses: [64; 32],
            });
            table.batch(&batch).unwrap();
        }
        table.finish().unwrap();
        let table = SerializedFileReader::new(file).unwrap();
        let rows = table.get_row_iter(None).unwrap().map(Result::unwrap);
        let mut count = 0;
        for (number, row) in (0..).zip(rows) {
            let texts = [1, 8].map(|column| row.get_string(column).unwrap().as_str());
            let expected = [format!("kernel {}", kernel(number)), place(number)];
            assert_eq!(row.get_uint(0).unwrap(), number);
            assert_eq!(texts, expected.each_ref().map(String::as_str));
            count += 1;
        }
        assert_eq!(count, 140);
    }
}
