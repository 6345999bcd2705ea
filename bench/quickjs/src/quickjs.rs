//! A gate on QuickJS, through `rquickjs`. The context comes in as JSON text, parsed by QuickJS itself: that is
//! faster than making its values one by one from outside.

use std::hint::black_box;

use rquickjs::{Context, Ctx, Function, Object, Runtime};

/// The helper that the gates use, as fast as QuickJS can have it.
const HELPERS: &str = "globalThis.any = (list, test) => Array.isArray(list) && list.some(test);";

/// A realm that is kept from one evaluation to the next.
pub(crate) struct Realm<'js>(Ctx<'js>);

/// Runs `work` in a realm with the helpers.
pub(crate) fn with_realm<T>(work: impl FnOnce(&Realm<'_>) -> T) -> T {
    let runtime = Runtime::new().expect("a runtime starts");
    let context = Context::full(&runtime).expect("a realm starts");
    context.with(|ctx| work(&Realm::with_helpers(ctx)))
}

impl<'js> Realm<'js> {
    fn with_helpers(ctx: Ctx<'js>) -> Realm<'js> {
        ctx.eval::<(), _>(HELPERS).expect("the helpers are JavaScript");
        Realm(ctx)
    }

    /// The gate as a function that reads globals.
    pub(crate) fn compile(&self, gate: &str) -> Function<'js> {
        self.0.eval(format!("() => !!({gate})")).expect("the gate is JavaScript")
    }

    pub(crate) fn call(&self, compiled: &Function<'js>) -> bool {
        compiled.call(()).expect("the gate gives a value")
    }

    /// Makes each member of the context a global.
    pub(crate) fn bring(&self, context: &str) {
        let values = self.0.json_parse(black_box(context)).expect("the context is JSON");
        let members: Object<'js> = values.into_object().expect("the context is an object");
        let globals = self.0.globals();
        for member in members.props::<rquickjs::Atom<'js>, rquickjs::Value<'js>>() {
            let (name, value) = member.expect("a member of JSON can be read");
            globals.set(name, value).expect("a global can be set");
        }
    }

    pub(crate) fn evaluate(&self, gate: &str) -> bool {
        self.0.eval(format!("!!({})", black_box(gate))).expect("the gate gives a value")
    }
}

/// A realm per evaluation, on one runtime.
pub(crate) struct Alone(Runtime);

impl Alone {
    pub(crate) fn new() -> Alone {
        Alone(Runtime::new().expect("a runtime starts"))
    }

    pub(crate) fn evaluate(&self, gate: &str, context: &str) -> bool {
        let realm = Context::full(&self.0).expect("a realm starts");
        realm.with(|ctx| {
            let realm = Realm::with_helpers(ctx);
            realm.bring(context);
            realm.evaluate(gate)
        })
    }
}
