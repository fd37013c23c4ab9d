//! [`groups_parquet`]: the table of [`groups_csv`](crate::groups_csv) as a Parquet file.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use reuselens_profile::{Dimension, Group, Profile};
use thiserror::Error;

use crate::caches::{self, Level};
use crate::csv;

/// A Parquet file that could not be made.
#[derive(Debug, Error)]
#[error("cannot make the Parquet file: {0}")]
pub struct ParquetExportError(#[from] ParquetError);

type RowGroup<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// The table of [`groups_csv`](crate::groups_csv) as the bytes of a Parquet file: the same columns
/// in the same order; names as strings, `mean` as a double, counts as unsigned 64-bit integers. One
/// row group, Zstandard.
///
/// # Errors
/// If the Parquet library refuses the table, which only a fault in it can cause.
pub fn groups_parquet(profile: &Profile, by: &[Dimension]) -> Result<Vec<u8>, ParquetExportError> {
    let levels = caches::levels(profile);
    let groups: Vec<Group> = by.iter().flat_map(|by| profile.groups(*by)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("reuselens {}", profile.version))
        .build();
    let coherent = profile.invalidations().is_some();
    let schema = schema(&levels, coherent)?;
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut rows = writer.next_row_group()?;
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    column::<ByteArrayType>(&mut rows, &values(&groups, |group| text(group.by.name())))?;
    column::<ByteArrayType>(&mut rows, &values(&groups, |group| text(&group.name)))?;
    count(&mut rows, &groups, |group| group.accesses)?;
    count(&mut rows, &groups, |group| group.cold)?;
    column::<DoubleType>(&mut rows, &values(&groups, |group| group.mean))?;
    count(&mut rows, &groups, |group| group.max)?;
    for level in &levels {
        count(&mut rows, &groups, |group| group.misses(level.items))?;
    }
    if coherent {
        count(&mut rows, &groups, |group| group.invalidated)?;
    }
    rows.close()?;
    Ok(writer.into_inner()?)
}

fn schema(levels: &[Level], coherent: bool) -> Result<TypePtr, ParquetError> {
    let field = |name: String| {
        let (physical, converted) = match name.as_str() {
            "by" | "name" => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            "mean" => (Physical::DOUBLE, ConvertedType::NONE),
            _ => (Physical::INT64, ConvertedType::UINT_64),
        };
        let builder = Type::primitive_type_builder(&name, physical).with_converted_type(converted);
        builder
            .with_repetition(Repetition::REQUIRED)
            .build()
            .map(Arc::new)
    };
    let fields = csv::columns(levels, coherent)
        .into_iter()
        .map(field)
        .collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("groups")
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

fn values<T>(groups: &[Group], value: impl Fn(&Group) -> T) -> Vec<T> {
    groups.iter().map(value).collect()
}

/// Writes a column of counts; Parquet's unsigned numbers are the same bits.
fn count(
    rows: &mut RowGroup,
    groups: &[Group],
    value: impl Fn(&Group) -> u64,
) -> Result<(), ParquetError> {
    column::<Int64Type>(rows, &values(groups, |group| value(group).cast_signed()))
}

fn column<T: DataType>(rows: &mut RowGroup, values: &[T::T]) -> Result<(), ParquetError> {
    if let Some(mut column) = rows.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}
