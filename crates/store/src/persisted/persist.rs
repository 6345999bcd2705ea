//! How a value of the model is written into the journal and read back.
//!
//! ```text
//!   &T ── Written(&T): Serialize ──▶ bytes          no copy of what may be megabytes of output
//!   bytes ──▶ T::Record: Deserialize ── restore ──▶ T
//! ```
//!
//! `record!`, `record_enum!` and `record_choice!` list the persisted fields of one type. They build the model's
//! value field by field, so a field that is added to the model does not compile until somebody decides how it is
//! persisted.

use std::collections::BTreeMap;
use std::sync::Arc;

use escrow_model::ScopePath;
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use thiserror::Error;

/// A model type with a persisted shape.
pub(crate) trait Persist: Sized {
    /// The shape that is read.
    type Record: DeserializeOwned;

    /// Writes the shape without copying the value.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    fn restore(record: Self::Record) -> Result<Self, RestoreError>;
}

/// A record that is well-formed and yet stands for no value of the model.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct RestoreError(pub(crate) String);

/// Serialises a value in its persisted shape.
pub(crate) struct Written<'a, T>(pub(crate) &'a T);

impl<T: Persist> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// Values that are left out of a record, and restored by their default.
pub(crate) trait Absent {
    fn is_absent(&self) -> bool;
}

impl<T: Absent> Written<'_, T> {
    pub(crate) fn is_absent(&self) -> bool {
        self.0.is_absent()
    }
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<K, T> Absent for BTreeMap<K, T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<K, T> Absent for IndexMap<K, T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Absent for Map<String, Value> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Absent for String {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Absent for bool {
    fn is_absent(&self) -> bool {
        !self
    }
}

impl Absent for ScopePath {
    fn is_absent(&self) -> bool {
        self.is_root()
    }
}

impl<T: Persist> Persist for Option<T> {
    type Record = Option<T::Record>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Written(value)),
            None => serializer.serialize_none(),
        }
    }

    fn restore(record: Self::Record) -> Result<Self, RestoreError> {
        record.map(T::restore).transpose()
    }
}

impl<T: Persist> Persist for Vec<T> {
    type Record = Vec<T::Record>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Written))
    }

    fn restore(record: Self::Record) -> Result<Self, RestoreError> {
        let mut restored = record.into_iter().map(T::restore).collect::<Result<Vec<T>, _>>()?;
        // The records grew one by one, and their room was taken over: half of it can be empty.
        restored.shrink_to_fit();
        Ok(restored)
    }
}

impl<T: Persist> Persist for BTreeMap<String, T> {
    type Record = BTreeMap<String, T::Record>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, Written(value))))
    }

    fn restore(record: Self::Record) -> Result<Self, RestoreError> {
        record.into_iter().map(|(key, value)| Ok((key, T::restore(value)?))).collect()
    }
}

impl<T: Persist> Persist for IndexMap<String, T> {
    type Record = IndexMap<String, T::Record>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, Written(value))))
    }

    fn restore(record: Self::Record) -> Result<Self, RestoreError> {
        record.into_iter().map(|(key, value)| Ok((key, T::restore(value)?))).collect()
    }
}

impl<T: Persist> Persist for Box<T> {
    /// Boxed like the value, so that an entry is as small to move while it is read as it is afterwards.
    type Record = Box<T::Record>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::write(self, serializer)
    }

    fn restore(record: Self::Record) -> Result<Self, RestoreError> {
        T::restore(*record).map(Box::new)
    }
}

impl<T: Persist> Persist for Arc<T> {
    /// Boxed like the value, so that an entry is as small to move while it is read as it is afterwards.
    type Record = Box<T::Record>;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::write(self, serializer)
    }

    fn restore(record: Self::Record) -> Result<Self, RestoreError> {
        T::restore(*record).map(Arc::new)
    }
}

/// Types whose own JSON is the persisted shape: plain values, ids, and words whose spelling is promised to users.
macro_rules! persisted_as_is {
    ($($type:ty),+ $(,)?) => {$(
        impl Persist for $type {
            type Record = $type;

            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }

            fn restore(record: $type) -> Result<$type, RestoreError> {
                Ok(record)
            }
        }
    )+};
}

/// The persisted fields of a struct, in order. `= default` leaves a field out while it is absent (empty, none,
/// false, the root scope); `as "type"` gives it another name on disk.
macro_rules! record {
    ($(#[$attribute:meta])* $record:ident for $model:ident {
        $($field:ident $(as $name:literal)? : $type:ty $(= $default:ident)?),+ $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $record {
            $($(#[serde(rename = $name)])? $(#[serde($default)])? $field: <$type as Persist>::Record,)+
        }

        impl Persist for $model {
            type Record = $record;

            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                struct Fields<'a> {
                    $(
                        $(#[serde(rename = $name)])?
                        $(#[doc = stringify!($default)] #[serde(skip_serializing_if = "Written::is_absent")])?
                        $field: Written<'a, $type>,
                    )+
                }
                serde::Serialize::serialize(&Fields { $($field: Written(&self.$field)),+ }, serializer)
            }

            fn restore(record: $record) -> Result<$model, RestoreError> {
                Ok($model { $($field: Persist::restore(record.$field)?),+ })
            }
        }
    };
}

/// The persisted variants of an enum with named fields. The name of a variant in `snake_case` is its tag.
macro_rules! record_enum {
    ($record:ident for $model:ident {
        $($variant:ident $(as $tag:literal)? { $($field:ident : $type:ty $(= $default:ident)?),* $(,)? }),+ $(,)?
    }) => {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub(crate) enum $record {
            $($(#[serde(rename = $tag)])? $variant {
                $($(#[serde($default)])? $field: <$type as Persist>::Record,)*
            },)+
        }

        impl Persist for $model {
            type Record = $record;

            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(rename_all = "snake_case")]
                enum Fields<'a> {
                    $($(#[serde(rename = $tag)])? $variant {
                        $(
                            $(#[doc = stringify!($default)] #[serde(skip_serializing_if = "Written::is_absent")])?
                            $field: Written<'a, $type>,
                        )*
                    },)+
                }
                let fields = match self {
                    $($model::$variant { $($field),* } => Fields::$variant { $($field: Written($field)),* },)+
                };
                serde::Serialize::serialize(&fields, serializer)
            }

            fn restore(record: $record) -> Result<$model, RestoreError> {
                Ok(match record {
                    $($record::$variant { $($field),* } => {
                        $model::$variant { $($field: Persist::restore($field)?),* }
                    })+
                })
            }
        }
    };
}

/// The persisted variants of an enum that hold one value each, then those that hold none.
macro_rules! record_choice {
    ($record:ident for $model:ident {
        $($variant:ident($type:ty)),+ $(,)? $(; $($unit:ident),+ $(,)?)?
    }) => {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum $record {
            $($variant(<$type as Persist>::Record),)+
            $($($unit,)+)?
        }

        impl Persist for $model {
            type Record = $record;

            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(rename_all = "snake_case")]
                enum Choice<'a> {
                    $($variant(Written<'a, $type>),)+
                    $($($unit,)+)?
                }
                let choice = match self {
                    $($model::$variant(value) => Choice::$variant(Written(value)),)+
                    $($($model::$unit => Choice::$unit,)+)?
                };
                serde::Serialize::serialize(&choice, serializer)
            }

            fn restore(record: $record) -> Result<$model, RestoreError> {
                Ok(match record {
                    $($record::$variant(value) => $model::$variant(Persist::restore(value)?),)+
                    $($($record::$unit => $model::$unit,)+)?
                })
            }
        }
    };
}

pub(crate) use {persisted_as_is, record, record_choice, record_enum};
