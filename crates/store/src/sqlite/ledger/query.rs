//! Looks receipts up.

use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::ReceiptQuery;
use rusqlite::types::ToSql;
use rusqlite::{Connection, params_from_iter};

use super::{Problem, receipt_in, seconds};

/// The receipts asked for, in the order they were kept.
pub(super) fn receipts(
    connection: &Connection,
    query: &ReceiptQuery,
) -> Result<Vec<LifecycleReceipt>, Problem> {
    let (from, before) = (query.at_or_after_epoch_s.map(seconds), query.before_epoch_s.map(seconds));
    let (event, status) =
        (query.event.map(|event| event.as_str()), query.status.map(|status| status.as_str()));
    let conditions: [(&str, Option<&dyn ToSql>); 7] = [
        ("run = ?", given(query.harness_run_id.as_ref())),
        ("client = ?", given(query.client_id.as_ref())),
        ("adapter = ?", given(query.adapter_id.as_ref())),
        ("event = ?", given(event.as_ref())),
        ("status = ?", given(status.as_ref())),
        ("at >= ?", given(from.as_ref())),
        // Not `<`: the last second that SQLite can count stands for all that follow it.
        ("at <= ?", given(before.as_ref())),
    ];
    let mut sql = String::from("SELECT receipt_id, body FROM receipts");
    let mut values = Vec::new();
    for (condition, value) in conditions {
        if let Some(value) = value {
            sql += if values.is_empty() { " WHERE " } else { " AND " };
            sql += condition;
            values.push(value);
        }
    }
    sql += " ORDER BY position";
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let receipt = receipt_in(row)?;
        if query.matches(&receipt) {
            found.push(receipt);
        }
    }
    Ok(found)
}

fn given<T: ToSql>(value: Option<&T>) -> Option<&dyn ToSql> {
    value.map(|value| -> &dyn ToSql { value })
}
