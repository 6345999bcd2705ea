//! Columns that line up.

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

    /// Each cell is its plain text and that text as painted.
    pub(crate) fn row(&mut self, cells: &[(&str, String)]) {
        let cells = cells
            .iter()
            .map(|(plain, painted)| Cell { text: painted.clone(), width: plain.chars().count() })
            .collect();
        self.rows.push(cells);
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                text.push_str(&cell.text);
                if column + 1 < row.len() {
                    text.push_str(&" ".repeat(widths[column] - cell.width + 2));
                }
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}
