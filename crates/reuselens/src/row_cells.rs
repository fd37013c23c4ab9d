//! [`RowCells`]: the cell of each row of a block, for callers that change the order of accesses.

use reuselens_attribute::Columns;
use reuselens_profile::Machine;
use reuselens_trace::{Block, Event, Kind, Row, Source};
use reuselens_units::Granularity;

use crate::AnalysisOptions;
use crate::attribution::{Attribution, Uncounted};

/// The cell of a row of which nothing is known, or that is no access.
pub(crate) const NO_CELL: u32 = u32::MAX;

/// Finds who made each access, to which data, as an analysis by line and object does.
///
/// Cost: that of an analysis, and about as much again, as each access is a block of its own.
pub(crate) struct RowCells {
    attribution: Attribution,
    options: AnalysisOptions,
    /// An access, and the rows since the access before it.
    piece: Block,
    columns: Columns,
}

impl RowCells {
    pub fn new(source: &dyn Source, machine: &Machine, granularity: Granularity) -> Self {
        let options = AnalysisOptions {
            granularity: Some(granularity),
            contexts: false,
            ..AnalysisOptions::default()
        };
        RowCells {
            attribution: Attribution::new(source, machine, &options),
            options,
            piece: Block::new(),
            columns: Columns::new(),
        }
    }

    pub fn event(&mut self, event: Event) {
        // Accesses that a program names have cells here, also where all its accesses are seen.
        let event = match event {
            Event::Process(mut process) => {
                process.instrumented = false;
                Event::Process(process)
            }
            other => other,
        };
        self.attribution.event(event);
    }

    /// The cells of a block's rows. An access to several items has one, that of its first byte.
    pub fn of_block(&mut self, block: &Block, cells: &mut Vec<u32>) {
        cells.clear();
        cells.resize(block.len(), NO_CELL);
        self.piece.clear();
        let (mut access, mut is_range) = (None, false);
        for (at, row) in block.rows().enumerate() {
            if row.kind != Kind::Operand {
                self.end_piece(access.take(), block, cells);
                is_range = matches!(row.kind, Kind::RangeLoad | Kind::RangeStore);
            }
            access = access.or(row.kind.is_access().then_some(at));
            // Of a range its first byte: a damaged trace can claim any length.
            let most = if is_range && row.kind == Kind::Operand {
                1
            } else {
                u64::MAX
            };
            self.piece.push(Row {
                addr: row.addr.min(most),
                ..row
            });
        }
        self.end_piece(access, block, cells);
        // Rows after the last access, which may name data.
        self.attribute(block);
    }

    /// Ends the piece if its last row is an access, that at `access` of the block.
    fn end_piece(&mut self, access: Option<usize>, block: &Block, cells: &mut [u32]) {
        if let Some(access) = access {
            cells[access] = self.attribute(block);
        }
    }

    /// Attributes the piece, and gives the cell of its access.
    fn attribute(&mut self, block: &Block) -> u32 {
        (self.piece.process, self.piece.thread) = (block.process, block.thread);
        let stamps = (block.first_stamp, block.last_stamp);
        (self.piece.first_stamp, self.piece.last_stamp) = stamps;
        let mut cell = NO_CELL;
        self.attribution
            .block(&self.piece, &mut self.columns, |columns| {
                if cell == NO_CELL {
                    cell = columns.cells.first().copied().unwrap_or(NO_CELL);
                }
            });
        self.piece.clear();
        cell
    }

    /// The number of cells, one for all accesses without one included: the last.
    pub fn finish(self, source: &dyn Source, machine: Machine) -> Uncounted {
        let command = Vec::new();
        let mut uncounted = self
            .attribution
            .finish(source, command, machine, &self.options);
        uncounted.profile.cells.push(Default::default());
        uncounted
    }
}
