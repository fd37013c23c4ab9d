//! [`lockstep`]: the order in which warps and blocks that run side by side are looked at.

/// What is left of a list.
struct ListRest<'l, T> {
    list: usize,
    /// Of the next entry.
    position: u64,
    rest: &'l [T],
}

/// Visits the entries of lists, each with its list's number, by position and then by list, as if
/// all lists advanced together. Positions ascend in each list; an entry that is below those before
/// it in its list is visited right after them.
///
/// Cost: a comparison for each list that has entries left and each position that occurs.
pub(crate) fn lockstep<'l, T: 'l>(
    lists: impl Iterator<Item = (usize, &'l [T])>,
    position: impl Fn(&T) -> u64,
    mut visit: impl FnMut(usize, &T),
) {
    let mut going: Vec<ListRest<'l, T>> = lists
        .filter_map(|(list, rest)| {
            let position = position(rest.first()?);
            Some(ListRest {
                list,
                position,
                rest,
            })
        })
        .collect();
    let positions = going.iter().map(|cursor| cursor.position);
    let mut now = positions.min().unwrap_or(0);
    while !going.is_empty() {
        let (mut next, mut has_ended) = (u64::MAX, false);
        for cursor in &mut going {
            while cursor.position <= now
                && let Some((entry, rest)) = cursor.rest.split_first()
            {
                visit(cursor.list, entry);
                cursor.rest = rest;
                match rest.first() {
                    Some(entry) => cursor.position = position(entry),
                    None => has_ended = true,
                }
            }
            if !cursor.rest.is_empty() {
                next = next.min(cursor.position);
            }
        }
        if has_ended {
            going.retain(|cursor| !cursor.rest.is_empty());
        }
        now = next;
    }
}
