//! Columns that line up.

use super::width;

/// Rows of cells; the last column is not padded.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    width: usize,
}

impl TextTable {
    pub(crate) fn new() -> TextTable {
        TextTable::default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Each cell is its plain text and that text as painted.
    pub(crate) fn row(&mut self, cells: &[(&str, String)]) {
        let cells = cells
            .iter()
            .map(|(plain, painted)| Cell { text: painted.clone(), width: width::width(plain) })
            .collect();
        self.rows.push(cells);
    }

    /// The rows, no wider than the terminal that stdout is.
    pub(crate) fn render(&self) -> String {
        self.render_within(width::page_columns())
    }

    fn render_within(&self, terminal_columns: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                // A column without any text takes no room.
                if widths[column] == 0 && column + 1 < row.len() {
                    continue;
                }
                line.push_str(&cell.text);
                if column + 1 < row.len() {
                    line.push_str(&" ".repeat(widths[column] - cell.width + 2));
                }
            }
            text.push_str(&width::fit(line.trim_end(), terminal_columns));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_past_item_ten_and_rows_fit_the_terminal() {
        let mut table = TextTable::new();
        for (item, note) in [("each[9]", "fine"), ("each[10]", "a note that is longer than the terminal")] {
            table.row(&[(item, item.to_owned()), (note, note.to_owned())]);
        }
        assert_eq!(table.render_within(Some(20)), "each[9]   fine\neach[10]  a note th…\n");
        assert!(table.render_within(None).ends_with("longer than the terminal\n"));
    }
}
