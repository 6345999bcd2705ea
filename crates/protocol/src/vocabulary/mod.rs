//! The closed vocabularies of the wire.
//!
//! **Invariant:** a vocabulary is one table from variant to wire word. Reading, writing, listing and display all
//! come from that table, and a word that is not in it is refused.

mod event;
mod failure;
mod frame;
mod negotiation;
mod placement;
mod support;

pub use event::LifecycleEventKind;
pub use failure::{FailureClass, RetryClass};
pub use frame::FrameClass;
pub use negotiation::{NegotiationOutcome, RequirementLevel};
pub use placement::{ManifestPlacementClass, PlacementClass, PlacementOutcome};
pub use support::{AdapterRole, IntegrationMode, ReceiptStatus, SupportState};

macro_rules! vocabulary {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $(#[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every word, in the order of the wire.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use vocabulary;

#[cfg(test)]
mod tests {
    use super::{
        AdapterRole, FailureClass, FrameClass, IntegrationMode, LifecycleEventKind, ManifestPlacementClass,
        NegotiationOutcome, PlacementClass, PlacementOutcome, ReceiptStatus, RequirementLevel, RetryClass,
        SupportState,
    };

    #[test]
    fn every_word_is_read_back_from_what_is_written() {
        macro_rules! check {
            ($($name:ident: $count:literal,)+) => {$(
                assert_eq!($name::ALL.len(), $count, stringify!($name));
                for &word in $name::ALL {
                    assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
                    assert_eq!(serde_json::from_value::<$name>(word.as_str().into()).unwrap(), word);
                    assert_eq!($name::parse(word.as_str()), Some(word));
                    assert_eq!(word.to_string(), word.as_str());
                }
                assert_eq!($name::parse("no such word"), None);
            )+};
        }
        check! {
            AdapterRole: 4, FailureClass: 13, FrameClass: 2, IntegrationMode: 5, LifecycleEventKind: 14,
            ManifestPlacementClass: 5, NegotiationOutcome: 4, PlacementClass: 4, PlacementOutcome: 4,
            ReceiptStatus: 5, RequirementLevel: 3, RetryClass: 5, SupportState: 5,
        }
    }
}
