//! Items by their values: which effect belongs to which item, also when a list comes back in another order.
//!
//! ```text
//!   effect for {id: 7} ──list again──▶ {id: 7}, at any index: the same effect
//!                                └───▶ no equal item: each new item may be it, so a person is asked
//! ```
//!
//! **Invariant:** equal values are one item. As in JavaScript, 1 and 1.0 are equal, and the order of members is no part
//! of an object.

use std::collections::{BTreeMap, BTreeSet};

use escrow_model::{CheckIndex, Criticality, ProviderName, ScopePath};
use serde_json::{Map, Number, Value, json};

use crate::effect::EffectStanding;
use crate::run::Run;

/// The items that lead to a scope, outermost first, each with its occurrence among equal ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Items(Vec<String>);

impl Items {
    /// One text for all of them; empty outside of lists.
    pub(crate) fn identity(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("[{}]", self.0.join(",")) }
    }
}

impl Run {
    pub(crate) fn items(&self, check: CheckIndex, scope: &ScopePath) -> Items {
        let fan = &self.state.plan.check(check).fan;
        let levels = fan.iter().zip(scope.indices()).enumerate();
        let items = levels.map(|(depth, (parent, index))| {
            let list = self.list_of(*parent, &scope.truncated(depth));
            let index = usize::try_from(*index).unwrap_or(usize::MAX);
            match list.and_then(|list| Some((list.get(index)?, list))) {
                Some((item, list)) => {
                    let occurrence = list[..index].iter().filter(|other| are_equal(other, item)).count();
                    json!([canonical(item), occurrence]).to_string()
                }
                None => json!([null, index]).to_string(),
            }
        });
        Items(items.collect())
    }

    /// The values of the items that lead to a scope, outermost first.
    pub(crate) fn item_values(&self, check: CheckIndex, scope: &ScopePath) -> Option<Vec<Value>> {
        let fan = &self.state.plan.check(check).fan;
        let values = fan.iter().zip(scope.indices()).enumerate().map(|(depth, (parent, index))| {
            let list = self.list_of(*parent, &scope.truncated(depth))?;
            list.get(usize::try_from(*index).ok()?).map(canonical)
        });
        values.collect()
    }

    fn list_of(&self, parent: CheckIndex, scope: &ScopePath) -> Option<&Vec<Value>> {
        self.cell(parent, scope)?.answer.as_ref()?.output.as_array()
    }

    /// Whether an item with an effect that did not definitely fail is no longer in its list.
    pub(crate) fn has_lost_an_item(&self, check: CheckIndex) -> bool {
        let mut lists = BTreeMap::new();
        self.lasting_items(check).into_iter().any(|items| self.is_gone(check, items, &mut lists))
    }

    /// The items of a group that no effect of the check was attempted for.
    pub(crate) fn items_without_effect(
        &self,
        check: CheckIndex,
        scope: &ScopePath,
        total: u32,
    ) -> BTreeSet<u32> {
        let state = &self.state.checks[check.place()];
        let attempted = state.effects.values().map(|record| &record.items).chain(state.nested.keys());
        let attempted: BTreeSet<&Items> = attempted.collect();
        (0..total).filter(|index| !attempted.contains(&self.items(check, &scope.child(*index)))).collect()
    }

    /// The items with effects that did not definitely fail and that no route repeats.
    fn lasting_items(&self, check: CheckIndex) -> Vec<&Items> {
        let (spec, state) = (self.state.plan.check(check), &self.state.checks[check.place()]);
        if spec.provider == ProviderName::NESTED {
            let nested = state.nested.iter().filter(|(_, nested)| nested.has_lasting_effects);
            return nested.map(|(items, _)| items).collect();
        }
        let lasting = state.effects.values().filter(|record| {
            spec.criticality == Criticality::External
                && record.standing != EffectStanding::Failed
                && !record.superseded
        });
        lasting.map(|record| &record.items).collect()
    }

    /// A list that is not known yet may still have the item.
    fn is_gone(&self, check: CheckIndex, items: &Items, lists: &mut BTreeMap<ScopePath, Places>) -> bool {
        let fan = &self.state.plan.check(check).fan;
        let mut scope = ScopePath::root();
        for (parent, item) in fan.iter().zip(&items.0) {
            let places = lists.entry(scope.clone()).or_insert_with(|| self.places(*parent, &scope));
            let Some(places) = places else { return false };
            let Some(index) = places.get(item) else { return true };
            scope = scope.child(*index);
        }
        false
    }

    fn places(&self, parent: CheckIndex, scope: &ScopePath) -> Places {
        self.items_given(parent, scope)?;
        let mut occurrences: BTreeMap<String, u32> = BTreeMap::new();
        let list = self.list_of(parent, scope)?.iter().zip(0..);
        let places = list.map(|(item, index)| {
            let item = canonical(item);
            let occurrence = occurrences.entry(item.to_string()).or_default();
            let place = json!([item, occurrence]).to_string();
            *occurrence += 1;
            (place, index)
        });
        Some(places.collect())
    }
}

/// Where the items of a list are; `None` while it is not known.
type Places = Option<BTreeMap<String, u32>>;

/// One form for equal values.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        Value::Number(number) => Value::Number(canonical_number(number)),
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            let members = sorted.into_iter().map(|(name, value)| (name.clone(), canonical(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Whether two values have one form, without building it.
fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || canonical_number(one) == canonical_number(other)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| are_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_equal = |(name, one)| other.get(name).is_some_and(|other| are_equal(one, other));
            one.len() == other.len() && one.iter().all(has_equal)
        }
        (one, other) => one == other,
    }
}

/// An integer, where the number is one that a double holds exactly.
fn canonical_number(number: &Number) -> Number {
    /// Up to here, each integer is a double of its own.
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_MAX => {
            // The text of such a double is that of the integer; negative zero is zero.
            format!("{:.0}", float + 0.0).parse::<i64>().map_or_else(|_| number.clone(), Number::from)
        }
        Some(_) | None => number.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_form() {
        let form = |text: &str| canonical(&serde_json::from_str(text).expect("JSON")).to_string();
        assert_eq!(form("1.0"), "1");
        assert_eq!(form("-0.0"), "0");
        assert_eq!(form("1e3"), "1000");
        assert_eq!(form("1.5"), "1.5");
        assert_eq!(form("18446744073709551615"), "18446744073709551615");
        assert_eq!(form(r#"{"b": [2.0], "a": null}"#), r#"{"a":null,"b":[2]}"#);
        assert!(are_equal(&json!({"a": 1, "b": [2.0]}), &json!({"b": [2], "a": 1.0})));
        assert!(!are_equal(&json!({"a": 1}), &json!({"a": "1"})));
    }
}
