//! What becomes of the rows of a file.

use reuselens_trace::Wish;

/// As what rows are delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Form {
    /// As they are.
    #[default]
    Rows,
    /// Without those that come again.
    Folds,
    /// As touches, of which no more is to be known.
    Touches(Wish),
}

impl Form {
    /// What is to be known of touches, if they are wished for.
    pub(super) fn wish(&self) -> Option<Wish> {
        match self {
            Form::Touches(wish) => Some(*wish),
            Form::Rows | Form::Folds => None,
        }
    }

    pub(super) fn is_folded(&self) -> bool {
        matches!(self, Form::Folds)
    }
}
