//! The limits of a template. They are constants, so that a playbook behaves the same everywhere.

/// The longest template source, in bytes.
pub const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Lines of a template, and characters of one line. minijinja counts both in 16 bits.
pub const LINES_MAX: usize = 60_000;
pub const LINE_CHARS_MAX: usize = 60_000;

/// The longest text literal within `{{ }}` or `{% %}`, in bytes.
pub const LITERAL_BYTES_MAX: usize = 24_000;

/// The longest text that a template may produce. The output of a check is at most this long, so a template can always
/// pass it on.
pub const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// How much data a rendering may build and walk: one unit per byte, `NODE_UNITS` per value.
pub const WORK_UNITS_MAX: u64 = 64 << 20;

/// The cost of visiting one value.
pub const NODE_UNITS: u64 = 32;

/// Instructions of minijinja's virtual machine.
pub const INSTRUCTIONS_MAX: u64 = 1_000_000;

/// How deeply a value that a template builds may nest.
pub const VALUE_DEPTH_MAX: usize = 128;

/// How deeply macros, loops and blocks may nest while rendering. A macro call costs four.
pub const RECURSION_MAX: usize = 200;

/// Operators, dots, brackets and filters in one `{{ }}` or `{% %}`. The parser nests one level for each.
pub const OPERATORS_MAX: usize = 256;

/// `elif` branches in one template. The parser nests one level for each.
pub const BRANCHES_MAX: usize = 128;

/// The longest value that can be passed to a command in its environment. Linux refuses to start a program when one
/// `NAME=value` is longer than 128 KiB; the difference is room for the name.
pub const VARIABLE_BYTES_MAX: usize = 120 << 10;

/// All values of one command together: Linux gives arguments and environment a quarter of the stack.
pub const VARIABLES_BYTES_MAX: usize = 1 << 20;
