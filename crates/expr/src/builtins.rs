//! The table of helpers and standard functions.
//!
//! **Invariant:** this table is complete. A name outside it is `undefined`: the language has no prototype chain, no
//! clock and no randomness.

mod array;
mod array_change;
mod array_walk;
mod call;
mod collection;
mod global;
mod helper;
mod json;
mod math;
mod number;
mod object;
mod regex;
mod text;

macro_rules! builtins {
    ($($group:ident { $($variant:ident = $name:literal),* $(,)? })*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Builtin { $($($variant,)*)* }

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Group { $($group,)* }

        impl Builtin {
            pub(crate) fn name(self) -> &'static str {
                match self { $($(Builtin::$variant => $name,)*)* }
            }

            pub(crate) fn group(self) -> Group {
                match self { $($(Builtin::$variant => Group::$group,)*)* }
            }

            /// The function of a group with this name.
            fn find(group: Group, name: &str) -> Option<Builtin> {
                match group { $(Group::$group => match name { $($name => Some(Builtin::$variant),)* _ => None },)* }
            }
        }
    };
}

builtins! {
    Namespace { Math = "Math", Json = "JSON", Memory = "memory" }
    Constructor {
        Object = "Object", Array = "Array", String = "String", Number = "Number", Boolean = "Boolean",
        Set = "Set", Map = "Map", RegExp = "RegExp", Error = "Error", TypeError = "TypeError",
        RangeError = "RangeError", ReferenceError = "ReferenceError", SyntaxError = "SyntaxError", UriError = "URIError",
    }
    Global {
        ParseInt = "parseInt", ParseFloat = "parseFloat", IsNaN = "isNaN", IsFinite = "isFinite",
        EncodeUriComponent = "encodeURIComponent", DecodeUriComponent = "decodeURIComponent",
        EncodeUri = "encodeURI", DecodeUri = "decodeURI",
    }
    Helper {
        Contains = "contains", StartsWith = "startsWith", EndsWith = "endsWith", Length = "length",
        Always = "always", Success = "success", Failure = "failure", Log = "log",
        HasIssue = "hasIssue", CountIssues = "countIssues", HasFileMatching = "hasFileMatching",
        HasIssueWith = "hasIssueWith", HasFileWith = "hasFileWith",
        Any = "any", All = "all", None = "none", Count = "count",
        HasMinPermission = "hasMinPermission", IsOwner = "isOwner", IsMember = "isMember",
        IsCollaborator = "isCollaborator", IsContributor = "isContributor", IsFirstTimer = "isFirstTimer",
        Wave = "wave",
    }
    MemoryMember {
        MemoryGet = "get", MemoryHas = "has", MemoryList = "list", MemoryGetAll = "getAll",
        MemorySet = "set", MemoryIncrement = "increment", MemoryAppend = "append",
    }
    MathMember {
        MathAbs = "abs", MathCeil = "ceil", MathFloor = "floor", MathRound = "round", MathTrunc = "trunc",
        MathSign = "sign", MathSqrt = "sqrt", MathCbrt = "cbrt", MathPow = "pow", MathMin = "min", MathMax = "max",
        MathHypot = "hypot", MathLog = "log", MathLog2 = "log2", MathLog10 = "log10", MathLog1p = "log1p",
        MathExp = "exp", MathExpm1 = "expm1", MathSin = "sin", MathCos = "cos", MathTan = "tan", MathAsin = "asin",
        MathAcos = "acos", MathAtan = "atan", MathAtan2 = "atan2",
    }
    JsonMember { JsonParse = "parse", JsonStringify = "stringify" }
    ObjectMember {
        ObjectKeys = "keys", ObjectValues = "values", ObjectEntries = "entries", ObjectAssign = "assign",
        ObjectFromEntries = "fromEntries", ObjectFreeze = "freeze", ObjectIsFrozen = "isFrozen",
        ObjectHasOwn = "hasOwn", ObjectIs = "is",
    }
    ArrayMember { ArrayIsArray = "isArray", ArrayFrom = "from", ArrayOf = "of" }
    NumberMember {
        NumberIsInteger = "isInteger", NumberIsSafeInteger = "isSafeInteger", NumberIsFinite = "isFinite",
        NumberIsNaN = "isNaN", NumberParseFloat = "parseFloat", NumberParseInt = "parseInt",
    }
    StringMember { StringFromCharCode = "fromCharCode", StringFromCodePoint = "fromCodePoint" }
    ArrayMethod {
        ArrayAt = "at", ArrayConcat = "concat", ArrayEvery = "every", ArrayFill = "fill", ArrayFilter = "filter",
        ArrayFind = "find", ArrayFindIndex = "findIndex", ArrayFindLast = "findLast", ArrayFindLastIndex = "findLastIndex",
        ArrayFlat = "flat", ArrayFlatMap = "flatMap", ArrayForEach = "forEach", ArrayIncludes = "includes",
        ArrayIndexOf = "indexOf", ArrayJoin = "join", ArrayKeys = "keys", ArrayValues = "values", ArrayEntries = "entries",
        ArrayLastIndexOf = "lastIndexOf", ArrayMap = "map", ArrayPop = "pop", ArrayPush = "push", ArrayReduce = "reduce",
        ArrayReduceRight = "reduceRight", ArrayReverse = "reverse", ArrayShift = "shift", ArraySlice = "slice",
        ArraySome = "some", ArraySort = "sort", ArraySplice = "splice", ArrayToReversed = "toReversed",
        ArrayToSorted = "toSorted", ArrayToSpliced = "toSpliced", ArrayUnshift = "unshift", ArrayWith = "with",
        ArrayToString = "toString",
    }
    TextMethod {
        TextAt = "at", TextCharAt = "charAt", TextCharCodeAt = "charCodeAt", TextCodePointAt = "codePointAt",
        TextConcat = "concat", TextEndsWith = "endsWith", TextIncludes = "includes", TextIndexOf = "indexOf",
        TextLastIndexOf = "lastIndexOf", TextLocaleCompare = "localeCompare", TextMatch = "match",
        TextMatchAll = "matchAll", TextPadEnd = "padEnd", TextPadStart = "padStart", TextRepeat = "repeat",
        TextReplace = "replace", TextReplaceAll = "replaceAll", TextSearch = "search", TextSlice = "slice",
        TextSplit = "split", TextStartsWith = "startsWith", TextSubstring = "substring", TextSubstr = "substr",
        TextToLowerCase = "toLowerCase", TextToUpperCase = "toUpperCase", TextToLocaleLowerCase = "toLocaleLowerCase",
        TextToLocaleUpperCase = "toLocaleUpperCase", TextTrim = "trim", TextTrimStart = "trimStart", TextTrimEnd = "trimEnd",
        TextToString = "toString", TextValueOf = "valueOf",
    }
    NumberMethod {
        NumberToFixed = "toFixed", NumberToPrecision = "toPrecision", NumberToString = "toString",
        NumberToLocaleString = "toLocaleString", NumberValueOf = "valueOf",
    }
    BoolMethod { BoolToString = "toString", BoolValueOf = "valueOf" }
    ObjectMethod {
        ObjectHasOwnProperty = "hasOwnProperty", ObjectPropertyIsEnumerable = "propertyIsEnumerable",
        ObjectToString = "toString", ObjectToLocaleString = "toLocaleString", ObjectValueOf = "valueOf",
    }
    FunctionMethod { FunctionCall = "call", FunctionApply = "apply" }
    RegexMethod { RegexTest = "test", RegexExec = "exec", RegexToString = "toString" }
    SetMethod {
        SetAdd = "add", SetHas = "has", SetDelete = "delete", SetClear = "clear", SetForEach = "forEach",
        SetKeys = "keys", SetValues = "values", SetEntries = "entries",
    }
    MapMethod {
        MapGet = "get", MapSet = "set", MapHas = "has", MapDelete = "delete", MapClear = "clear",
        MapForEach = "forEach", MapKeys = "keys", MapValues = "values", MapEntries = "entries",
    }
}

impl Builtin {
    /// The built-in that a free name denotes; built-ins take precedence over the scope.
    pub(crate) fn global(name: &str) -> Option<Builtin> {
        [Group::Helper, Group::Namespace, Group::Constructor, Group::Global]
            .into_iter()
            .find_map(|group| Builtin::find(group, name))
    }

    pub(crate) fn method(group: Group, name: &str) -> Option<Builtin> {
        Builtin::find(group, name)
    }

    /// `Math.max`, `Object.keys`, …
    pub(crate) fn member(self, name: &str) -> Option<Builtin> {
        let group = match self {
            Builtin::Math => Group::MathMember,
            Builtin::Json => Group::JsonMember,
            Builtin::Memory => Group::MemoryMember,
            Builtin::Object => Group::ObjectMember,
            Builtin::Array => Group::ArrayMember,
            Builtin::Number => Group::NumberMember,
            Builtin::String => Group::StringMember,
            _ => return if self.is_namespace() { None } else { Builtin::find(Group::FunctionMethod, name) },
        };
        Builtin::find(group, name)
            .or_else(|| if self.is_namespace() { None } else { Builtin::find(Group::FunctionMethod, name) })
    }

    /// `Math.PI`, `Number.MAX_SAFE_INTEGER`, …
    pub(crate) fn constant(self, name: &str) -> Option<f64> {
        Some(match (self, name) {
            (Builtin::Math, "PI") => std::f64::consts::PI,
            (Builtin::Math, "E") => std::f64::consts::E,
            (Builtin::Math, "LN2") => std::f64::consts::LN_2,
            (Builtin::Math, "LN10") => std::f64::consts::LN_10,
            (Builtin::Math, "LOG2E") => std::f64::consts::LOG2_E,
            (Builtin::Math, "LOG10E") => std::f64::consts::LOG10_E,
            (Builtin::Math, "SQRT2") => std::f64::consts::SQRT_2,
            (Builtin::Math, "SQRT1_2") => std::f64::consts::FRAC_1_SQRT_2,
            (Builtin::Number, "MAX_SAFE_INTEGER") => 9_007_199_254_740_991.0,
            (Builtin::Number, "MIN_SAFE_INTEGER") => -9_007_199_254_740_991.0,
            (Builtin::Number, "MAX_VALUE") => f64::MAX,
            (Builtin::Number, "MIN_VALUE") => 5e-324,
            (Builtin::Number, "EPSILON") => f64::EPSILON,
            (Builtin::Number, "POSITIVE_INFINITY") => f64::INFINITY,
            (Builtin::Number, "NEGATIVE_INFINITY") => f64::NEG_INFINITY,
            (Builtin::Number, "NaN") => f64::NAN,
            _ => return None,
        })
    }

    pub(crate) fn is_namespace(self) -> bool {
        self.group() == Group::Namespace
    }

    pub(crate) fn is_helper(self) -> bool {
        self.group() == Group::Helper
    }

    /// The names of all helpers, for "did you mean".
    pub(crate) fn helper_names() -> impl Iterator<Item = &'static str> {
        HELPERS.iter().map(|builtin| builtin.name())
    }
}

const HELPERS: &[Builtin] = &[
    Builtin::Contains,
    Builtin::StartsWith,
    Builtin::EndsWith,
    Builtin::Length,
    Builtin::Always,
    Builtin::Success,
    Builtin::Failure,
    Builtin::Log,
    Builtin::HasIssue,
    Builtin::CountIssues,
    Builtin::HasFileMatching,
    Builtin::HasIssueWith,
    Builtin::HasFileWith,
    Builtin::Any,
    Builtin::All,
    Builtin::None,
    Builtin::Count,
    Builtin::HasMinPermission,
    Builtin::IsOwner,
    Builtin::IsMember,
    Builtin::IsCollaborator,
    Builtin::IsContributor,
    Builtin::IsFirstTimer,
    Builtin::Wave,
    Builtin::Memory,
];
