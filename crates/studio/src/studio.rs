//! What every request shares: the app, the driver of runs, the feed, and the secrets of forms.

use std::num::NonZeroUsize;
use std::sync::Arc;

use escrow_app::{App, Driver, Error, tokens};

use crate::counts::Counts;
use crate::feed::Feed;
use crate::long_runs::LongRuns;
use crate::pages::runs::Strips;
use crate::rate::RateLimit;
use crate::settings::Settings;
use crate::visitor::Visitor;

/// Runs that are driven at once. Runs that wait for a person take no place.
const HOSTED_MAX: NonZeroUsize = NonZeroUsize::new(16).expect("16 is not 0");

pub struct Studio {
    pub(crate) app: Arc<App>,
    pub(crate) driver: Driver,
    pub(crate) feed: Feed,
    pub(crate) settings: Settings,
    pub(crate) requests: RateLimit,
    pub(crate) refusals: RateLimit,
    pub(crate) sign_ins: RateLimit,
    pub(crate) strips: Strips,
    pub(crate) counts: Counts,
    pub(crate) long_runs: LongRuns,
    /// The name of the project, for the head of each page.
    pub(crate) project: String,
    /// The port that it listens on.
    pub(crate) port: u16,
    /// Known to this process alone: forms that another one made are refused.
    form_secret: String,
}

impl Studio {
    /// `port` is the one that was chosen, where the settings leave it open.
    pub fn new(app: Arc<App>, settings: Settings, port: u16) -> Result<Studio, Error> {
        let directory = app.state().path().parent().map(std::path::Path::to_owned).unwrap_or_default();
        let project = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Studio {
            driver: Driver::new(Arc::clone(&app), HOSTED_MAX),
            app,
            feed: Feed::new(),
            settings,
            requests: RateLimit::requests(),
            refusals: RateLimit::refusals(),
            sign_ins: RateLimit::sign_ins(),
            strips: Strips::default(),
            counts: Counts::default(),
            long_runs: LongRuns::default(),
            project,
            port,
            form_secret: tokens::random_text()?,
        })
    }

    /// The app that acts for this visitor.
    pub(crate) fn app_of(&self, visitor: &Visitor) -> Arc<App> {
        Arc::new(self.app.acting_as(visitor.actor.clone(), visitor.runs_around.clone()))
    }

    /// The value of the hidden field of forms in this session.
    pub(crate) fn form_token(&self, session: &str) -> String {
        tokens::digest(&format!("{}:{session}", self.form_secret))
    }
}
