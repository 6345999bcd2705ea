//! `escrow test`: playbook tests, without a process and without waiting.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_app::{Diagnosed, Error};
use escrow_model::{Plan, Secret};
use escrow_playbook::{Diagnostic, TestCase, TestFile, read_tests};
use escrow_runtime::playbook_file::Directories;
use escrow_runtime::rehearsal::{Difference, differences, rehearsal_of};
use serde_json::{Value, json};

use super::playbook_file;
use crate::arguments::{Output, TestArguments};
use crate::exit::Exit;
use crate::terminal::{Ui, printable};

/// A name that ends so is a test file, when a folder is searched for them.
const SUFFIX: &str = ".test.yaml";

pub(crate) fn test(arguments: &TestArguments, ui: &Ui) -> Result<Exit, Error> {
    let mut results = Vec::new();
    for file in files(&arguments.files)? {
        results.push(FileResult { outcome: run_file(&file, arguments.filter.as_deref(), ui), file });
    }
    let tests = || results.iter().flat_map(|result| result.outcome.as_deref().unwrap_or_default());
    let failed = tests().filter(|test| !test.passed()).count();
    let passed = tests().count() - failed;
    let bad = results.iter().filter(|result| result.outcome.is_err()).count();
    match ui.output() {
        Output::Human => ui.page(&page(&results, passed, failed, ui)),
        Output::Json => {
            let files: Vec<Value> = results.iter().map(FileResult::document).collect();
            ui.data(&json!({ "passed": passed, "failed": failed, "files": files }));
        }
        Output::Jsonl => {
            // Stdout is closed: stop printing.
            let _all_read = results.iter().all(|result| ui.data(&result.document()));
        }
    }
    if bad > 0 {
        return Ok(Exit::AuthorMustAct);
    }
    if passed + failed == 0 {
        return Err(Error::author("no_tests", "no test was run"));
    }
    Ok(if failed > 0 { Exit::WorkFailed } else { Exit::Completed })
}

struct FileResult {
    file: PathBuf,
    outcome: Result<Vec<TestResult>, BadFile>,
}

struct TestResult {
    name: String,
    problems: Vec<String>,
    differences: Vec<Difference>,
}

/// Why none of a file's tests was run.
struct BadFile {
    message: String,
    diagnostics: Vec<Diagnostic>,
}

impl TestResult {
    fn passed(&self) -> bool {
        self.problems.is_empty() && self.differences.is_empty()
    }

    fn document(&self) -> Value {
        json!({
            "name": self.name,
            "status": if self.passed() { "passed" } else { "failed" },
            "problems": self.problems,
            "differences": self.differences,
        })
    }
}

impl FileResult {
    fn document(&self) -> Value {
        let file = self.file.display().to_string();
        match &self.outcome {
            Ok(tests) => {
                let tests: Vec<Value> = tests.iter().map(TestResult::document).collect();
                json!({ "file": file, "tests": tests })
            }
            Err(bad) => json!({ "file": file, "error": {
                "code": "bad_test_file", "message": bad.message, "diagnostics": bad.diagnostics,
            } }),
        }
    }
}

/// The files that are named, and those in the folders that are named.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        collect(path, &mut files)
            .map_err(|error| Error::world("unreadable", format!("`{}`: {error}", path.display())))?;
        if files.len() == before {
            let message = format!("there is no test in `{}`", path.display());
            return Err(Error::author("no_tests", message)
                .help(format!("the name of a test file ends in `{SUFFIX}`")));
        }
    }
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            // Hidden folders hold state, not tests.
            if !name.starts_with('.') {
                collect(&entry.path(), files)?;
            }
        } else if name.ends_with(SUFFIX) {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn run_file(path: &Path, filter: Option<&str>, ui: &Ui) -> Result<Vec<TestResult>, BadFile> {
    let (tests, plan) = load(path, ui)?;
    let plan = Arc::new(plan);
    let wanted = |case: &&TestCase| filter.is_none_or(|filter| case.name.contains(filter));
    Ok(tests.tests.iter().filter(wanted).map(|case| run_case(case, &plan)).collect())
}

fn run_case(case: &TestCase, plan: &Arc<Plan>) -> TestResult {
    let played = rehearsal_of(case, plan).play();
    // A play that went wrong ended early: comparing it would only repeat the same thing in other words.
    let differences = if played.problems.is_empty() { differences(case, &played) } else { Vec::new() };
    TestResult { name: case.name.clone(), problems: played.problems, differences }
}

/// A test file and the playbook that it is about, with no problem left.
fn load(path: &Path, ui: &Ui) -> Result<(TestFile, Plan), BadFile> {
    let file = path.display().to_string();
    let read = |path: &Path| {
        let unread = |error| BadFile::plain(format!("cannot read `{}`: {error}", path.display()));
        escrow_runtime::playbook_file::read_bytes(path).map_err(unread)
    };
    let bytes = read(path)?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(BadFile::plain(format!("`{file}` is not UTF-8")));
    };
    let reading = read_tests(text, &file);
    let Some(tests) = reading.file else {
        return Err(BadFile::told(&file, text, reading.diagnostics, &[], ui));
    };
    let playbook = path.parent().unwrap_or(Path::new("")).join(&tests.playbook);
    let playbook_bytes = read(&playbook)?;
    let name = playbook.display().to_string();
    let here = std::env::current_dir().unwrap_or_default();
    let reading = escrow_runtime::playbook_file::read(&playbook, &playbook_bytes, Directories::both(&here));
    let Some(plan) = reading.plan else {
        let text = String::from_utf8_lossy(&playbook_bytes);
        return Err(BadFile::told(&name, &text, reading.diagnostics, &reading.secrets, ui));
    };
    let problems = tests.validate(&plan, text, &file);
    if problems.is_empty() {
        Ok((tests, plan))
    } else {
        Err(BadFile::told(&file, text, problems, &plan.secrets, ui))
    }
}

impl BadFile {
    fn plain(message: String) -> BadFile {
        BadFile { message, diagnostics: Vec::new() }
    }

    fn told(file: &str, text: &str, diagnostics: Vec<Diagnostic>, secrets: &[Secret], ui: &Ui) -> BadFile {
        let diagnosed = Diagnosed::new(diagnostics, text, secrets);
        playbook_file::show(&diagnosed, ui);
        let count = diagnosed.diagnostics().len();
        let problems = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
        BadFile { message: format!("`{file}` has {problems}"), diagnostics: diagnosed.diagnostics().to_vec() }
    }
}

fn page(results: &[FileResult], passed: usize, failed: usize, ui: &Ui) -> String {
    let paint = ui.page;
    let mut text = String::new();
    for result in results {
        text.push_str(&format!("{}\n", paint.bold(&printable(&result.file.display().to_string()))));
        let tests = match &result.outcome {
            Ok(tests) => tests,
            Err(bad) => {
                text.push_str(&format!("  {} not run: {}\n", paint.red("✗"), printable(&bad.message)));
                continue;
            }
        };
        for test in tests {
            let mark = if test.passed() { paint.green("✓") } else { paint.red("✗") };
            text.push_str(&format!("  {mark} {}\n", printable(&test.name)));
            for problem in &test.problems {
                text.push_str(&format!("      {}\n", printable(problem)));
            }
            let width = test.differences.iter().map(|one| one.subject.chars().count()).max().unwrap_or(0);
            for Difference { subject, expected, actual } in &test.differences {
                text.push_str(&format!("      {subject:<width$}  expected {}\n", printable(expected)));
                text.push_str(&format!("      {:<width$}  was      {}\n", "", printable(actual)));
            }
        }
    }
    text.push_str(&format!("{passed} passed"));
    if failed > 0 {
        text.push_str(&format!(", {}", paint.red(&format!("{failed} failed"))));
    }
    match results.iter().filter(|result| result.outcome.is_err()).count() {
        0 => {}
        1 => text.push_str(&format!(", {}", paint.red("1 file not run"))),
        bad => text.push_str(&format!(", {}", paint.red(&format!("{bad} files not run")))),
    }
    text
}
