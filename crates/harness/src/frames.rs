//! Links the receipts of a session: a frame to its session, its end to its beginning, a sub-agent to its caller.
//!
//! ```text
//!   session.started ◀── frame.opening ◀── frame.ending
//!                            ▲   ◀── context.*
//!                            └── frame.opening (sub-agent) ◀── frame.ending (sub-agent)
//! ```

use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::vocabulary::{FrameClass, LifecycleEventKind as Event};

/// The key of `telemetry_summary` with the class of the frame.
pub const FRAME_CLASS: &str = "frame_class";

/// The key of `telemetry_summary` with the name of the hook event.
pub const HOOK_EVENT: &str = "hook_event";

/// The receipt that a new one follows from. `earlier` are receipts in the order of recording.
pub fn parent_of<'r>(receipt: &LifecycleReceipt, earlier: &'r [LifecycleReceipt]) -> Option<&'r str> {
    let latest = |wanted: &dyn Fn(&LifecycleReceipt) -> bool| {
        let same_session = |other: &&LifecycleReceipt| {
            other.adapter_id == receipt.adapter_id && other.harness_session_id == receipt.harness_session_id
        };
        earlier.iter().rev().filter(same_session).find(|other| wanted(other)).map(|other| &*other.receipt_id)
    };
    let session = || latest(&|other| other.event == Event::SessionStarted);
    let main_frame = || latest(&|other| other.event == Event::FrameOpening && !is_subcall(other));
    let own_frame = || {
        latest(&|other| {
            other.event == Event::FrameOpening
                && is_subcall(other) == is_subcall(receipt)
                && (receipt.harness_task_id.is_none() || other.harness_task_id == receipt.harness_task_id)
        })
    };
    match receipt.event {
        Event::FrameOpening if is_subcall(receipt) => main_frame().or_else(session),
        Event::FrameOpening | Event::SessionEnding | Event::SessionEnded => session(),
        Event::FrameOpened | Event::FrameEnding | Event::FrameEnded => own_frame().or_else(main_frame),
        Event::ContextPressureObserved | Event::ContextCompacted | Event::CapabilityDegraded => {
            main_frame().or_else(session)
        }
        Event::SessionStarting
        | Event::SessionStarted
        | Event::SupervisorTick
        | Event::ReceiptEmitted
        | Event::ReceiptGapDetected => None,
    }
}

fn is_subcall(receipt: &LifecycleReceipt) -> bool {
    receipt.telemetry_summary.get(FRAME_CLASS).and_then(|class| class.as_str())
        == Some(FrameClass::Subcall.as_str())
}
