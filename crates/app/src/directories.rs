//! The directories in which runs work, so that a question can say where its request would run.

use std::collections::BTreeMap;

use escrow_model::RunId;
use escrow_store::{LookupError, Queries, StoreError, WaitRow};

/// The working directories of runs.
pub type Directories = BTreeMap<RunId, String>;

/// The directories of the runs that these waits belong to. A run that `gc` has removed since has none.
pub async fn directories_of(queries: &dyn Queries, waits: &[WaitRow]) -> Result<Directories, StoreError> {
    let mut directories = Directories::new();
    for wait in waits {
        if directories.contains_key(&wait.run) {
            continue;
        }
        match queries.run(wait.run.as_str()).await {
            Ok(row) => drop(directories.insert(row.id, row.directory)),
            Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => {}
            Err(LookupError::Store(error)) => return Err(error),
        }
    }
    Ok(directories)
}
