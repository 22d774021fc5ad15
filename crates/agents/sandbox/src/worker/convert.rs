//! Values between code and host.
//!
//! What a value is, the engine says, not the value: neither `instanceof` nor a constructor's name is asked. Getters and
//! proxies of the code may run here; they change nothing but the code's own message.

#![allow(unsafe_code, reason = "the engine's tests for kinds of objects have no safe form")]

use rquickjs::atom::Atom;
use rquickjs::function::This;
use rquickjs::object::{Filter, Property};
use rquickjs::{Array, ArrayBuffer, Ctx, Function, Object, String as JsString, Value as Js, qjs};

use crate::limits::{DEPTH_MAX, FRAME_BYTES_MAX, VALUES_MAX};
use crate::value::{Elements, Value};

/// Why a value does not cross.
pub(super) enum Refused {
    /// It is of a kind that does not cross, or too large: a `SerializationError`.
    Not(String),
    /// Code threw while it was read; the exception is pending.
    Thrown,
}

impl From<rquickjs::Error> for Refused {
    fn from(_: rquickjs::Error) -> Self {
        Self::Thrown
    }
}

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Buffer,
    Date,
    Error,
    Function,
    Map,
    Other,
    Plain,
    Promise,
    Proxy,
    RegExp,
    Set,
    Typed(Elements),
}

impl Kind {
    pub(super) fn of(value: &Js<'_>) -> Self {
        if value.is_proxy() {
            return Self::Proxy;
        }
        if value.is_function() {
            return Self::Function;
        }
        if value.is_array() {
            return Self::Array;
        }
        if value.is_error() {
            return Self::Error;
        }
        if value.is_promise() {
            return Self::Promise;
        }
        let raw = value.as_raw();
        /// The class of objects without a class of their own.
        const PLAIN: u32 = 1;
        // SAFETY: the value lives for the whole of each call, and none of them keeps it or runs code.
        unsafe {
            if qjs::JS_GetClassID(raw) == PLAIN {
                return Self::Plain;
            }
            if qjs::JS_IsDate(raw) {
                return Self::Date;
            }
            if qjs::JS_IsMap(raw) {
                return Self::Map;
            }
            if qjs::JS_IsSet(raw) {
                return Self::Set;
            }
            if qjs::JS_IsRegExp(raw) {
                return Self::RegExp;
            }
            if qjs::JS_IsArrayBuffer(raw) {
                return Self::Buffer;
            }
            let elements = usize::try_from(qjs::JS_GetTypedArrayType(raw)).ok();
            elements.and_then(|index| Elements::ALL.get(index)).map_or(Self::Other, |elements| Self::Typed(*elements))
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Buffer => "buffer",
            Self::Date => "date",
            Self::Error => "error",
            Self::Function => "function",
            Self::Map => "map",
            Self::Other => "object of another kind",
            Self::Plain => "object",
            Self::Promise => "promise",
            Self::Proxy => "proxy",
            Self::RegExp => "regexp",
            Self::Set => "set",
            Self::Typed(_) => "typed",
        }
    }
}

/// The helpers of `start.js`.
#[derive(Clone)]
pub(super) struct Helpers<'js>(pub(super) Object<'js>);

impl<'js> Helpers<'js> {
    pub(super) fn get(&self, name: &str) -> rquickjs::Result<Function<'js>> {
        self.0.get(name)
    }

    /// Text of code, with U+FFFD for lone surrogates.
    pub(super) fn text(&self, text: &JsString<'js>) -> rquickjs::Result<String> {
        match text.to_string() {
            Err(rquickjs::Error::Utf8(_)) => {
                self.get("wellFormed")?.call::<_, JsString<'js>>((text.clone(),))?.to_string()
            }
            done => done,
        }
    }

    /// A value of code, for the host.
    pub(super) fn leave(&self, value: &Js<'js>) -> Result<Value, Refused> {
        Leaving { helpers: self, left: VALUES_MAX, bytes: FRAME_BYTES_MAX }.value(value, 0)
    }
}

struct Leaving<'h, 'js> {
    helpers: &'h Helpers<'js>,
    left: usize,
    bytes: usize,
}

impl<'js> Leaving<'_, 'js> {
    fn value(&mut self, value: &Js<'js>, depth: usize) -> Result<Value, Refused> {
        if depth > DEPTH_MAX {
            return Err(not(format!("it is nested more than {DEPTH_MAX} levels deep, or contains itself")));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| not(format!("it has more than {VALUES_MAX} values")))?;
        if let Some(number) = value.as_number() {
            return Ok(Value::Number(number));
        }
        if let Some(value) = value.as_bool() {
            return Ok(Value::Bool(value));
        }
        if value.is_undefined() {
            return Ok(Value::Undefined);
        }
        if value.is_null() {
            return Ok(Value::Null);
        }
        if let Some(text) = value.as_string() {
            let text = self.helpers.text(text)?;
            self.spend(text.len())?;
            return Ok(Value::String(text));
        }
        if value.is_big_int() {
            let digits: String = self.helpers.get("digits")?.call((value.clone(),))?;
            self.spend(digits.len())?;
            return Ok(Value::BigInt(digits));
        }
        match value.as_object() {
            Some(object) => self.object(object, depth),
            None => Err(not(format!("a {} does not cross", value.type_name()))),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Refused> {
        let too_large = || not(format!("it has more than {FRAME_BYTES_MAX} bytes"));
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }

    fn object(&mut self, object: &Object<'js>, depth: usize) -> Result<Value, Refused> {
        let kind = Kind::of(object.as_value());
        match kind {
            Kind::Plain => self.fields(object, depth),
            Kind::Array => {
                let array = Array::from_value(object.as_value().clone())?;
                Ok(Value::Array(self.items(&array, depth)?))
            }
            Kind::Date => Ok(Value::Date(self.helpers.get("time")?.call((object.clone(),))?)),
            Kind::Set => {
                let items: Array<'js> = self.helpers.get("items")?.call((object.clone(),))?;
                Ok(Value::Set(self.items(&items, depth)?))
            }
            Kind::Map => {
                let pairs: Array<'js> = self.helpers.get("pairs")?.call((object.clone(),))?;
                let mut pairs = self.items(&pairs, depth)?.into_iter();
                let pair = || Some((pairs.next()?, pairs.next()?));
                Ok(Value::Map(std::iter::from_fn(pair).collect()))
            }
            Kind::Buffer => Ok(Value::Buffer(self.bytes(object.as_value())?)),
            Kind::Typed(elements) => Ok(Value::Typed(elements, self.elements(object.as_value())?)),
            Kind::Error | Kind::Function | Kind::Other | Kind::Promise | Kind::Proxy | Kind::RegExp => {
                Err(not(format!("a {} does not cross", kind.word())))
            }
        }
    }

    fn fields(&mut self, object: &Object<'js>, depth: usize) -> Result<Value, Refused> {
        let mut fields = Vec::new();
        for key in object.own_keys::<Atom<'js>>(Filter::new().string().enum_only()) {
            let key = key?;
            let name = self.helpers.text(&key.to_js_string()?)?;
            self.spend(name.len())?;
            let value: Js<'js> = object.get(key)?;
            fields.push((name, self.value(&value, depth + 1)?));
        }
        Ok(Value::Object(fields))
    }

    fn items(&mut self, array: &Array<'js>, depth: usize) -> Result<Vec<Value>, Refused> {
        // `Array::len` takes lengths from 2^31 on for something else.
        let length: f64 = array.as_object().get("length")?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length is a whole number")]
        let length = length as usize;
        if length > self.left {
            return Err(not(format!("it has more than {VALUES_MAX} values")));
        }
        let mut items = Vec::with_capacity(length);
        for index in 0..length {
            let item: Js<'js> = array.get(index)?;
            items.push(self.value(&item, depth + 1)?);
        }
        Ok(items)
    }

    /// The bytes of a buffer; none of one that was given away.
    fn bytes(&mut self, buffer: &Js<'js>) -> Result<Vec<u8>, Refused> {
        let raw = ArrayBuffer::from_value(buffer.clone()).and_then(|buffer| buffer.as_raw());
        let Some(raw) = raw else {
            drop(buffer.ctx().catch());
            return Ok(Vec::new());
        };
        self.spend(raw.len())?;
        // SAFETY: the buffer lives, and no code runs until its bytes are copied.
        Ok(unsafe { raw.as_ref() }.to_vec())
    }

    fn elements(&mut self, array: &Js<'js>) -> Result<Vec<u8>, Refused> {
        let ctx = array.ctx();
        let (mut offset, mut length, mut size) = (0, 0, 0);
        // SAFETY: the array lives during the call, which writes three numbers and gives its buffer.
        let buffer = unsafe {
            let raw = qjs::JS_GetTypedArrayBuffer(
                ctx.as_raw().as_ptr(),
                array.as_raw(),
                &raw mut offset,
                &raw mut length,
                &raw mut size,
            );
            Js::from_raw(ctx.clone(), raw)
        };
        if buffer.is_exception() {
            return Err(Refused::Thrown);
        }
        let place = usize::try_from(offset).unwrap_or(0)..usize::try_from(offset + length).unwrap_or(0);
        let bytes = self.bytes(&buffer)?;
        Ok(bytes.get(place).unwrap_or_default().to_vec())
    }
}

fn not(why: String) -> Refused {
    Refused::Not(why)
}

/// A value of the host, for code. `function` makes a function of its number.
pub(super) fn enter<'js>(
    ctx: &Ctx<'js>,
    helpers: &Helpers<'js>,
    value: &Value,
    function: &dyn Fn(u32) -> rquickjs::Result<Function<'js>>,
) -> rquickjs::Result<Js<'js>> {
    let inner = |value: &Value| enter(ctx, helpers, value, function);
    let array = |items: &[Value]| -> rquickjs::Result<Array<'js>> {
        let array = Array::new(ctx.clone())?;
        for (index, item) in items.iter().enumerate() {
            array.set(index, inner(item)?)?;
        }
        Ok(array)
    };
    Ok(match value {
        Value::Undefined => Js::new_undefined(ctx.clone()),
        Value::Null => Js::new_null(ctx.clone()),
        Value::Bool(value) => Js::new_bool(ctx.clone(), *value),
        Value::Number(number) => Js::new_number(ctx.clone(), *number),
        Value::String(text) => JsString::from_str(ctx.clone(), text)?.into_value(),
        Value::BigInt(digits) => helpers.get("big")?.call((digits.as_str(),))?,
        Value::Date(ms) => helpers.get("date")?.call((*ms,))?,
        Value::Array(items) => array(items)?.into_value(),
        Value::Object(fields) => {
            let object = Object::new(ctx.clone())?;
            for (key, value) in fields {
                // Defined, not set: a key `__proto__` is a key like any other.
                let value = Property::from(inner(value)?).writable().enumerable().configurable();
                object.prop(key.as_str(), value)?;
            }
            object.into_value()
        }
        Value::Map(pairs) => {
            let (map, put): (Js<'js>, _) = (helpers.get("map")?.call(())?, helpers.get("put")?);
            for (key, value) in pairs {
                put.call::<_, ()>((map.clone(), inner(key)?, inner(value)?))?;
            }
            map
        }
        Value::Set(items) => {
            let (set, add): (Js<'js>, _) = (helpers.get("set")?.call(())?, helpers.get("add")?);
            for item in items {
                add.call::<_, ()>((set.clone(), inner(item)?))?;
            }
            set
        }
        Value::Buffer(bytes) => ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value(),
        Value::Typed(elements, bytes) => {
            let buffer = ArrayBuffer::new_copy(ctx.clone(), bytes)?;
            helpers.get("typed")?.call((elements.constructor(), buffer))?
        }
        Value::Function(number) => function(*number)?.into_value(),
    })
}

/// `name` of an object as text, whatever its type; none if it has none or throws.
pub(super) fn text_of<'js>(helpers: &Helpers<'js>, object: &Object<'js>, name: &str) -> Option<String> {
    let ctx = object.ctx().clone();
    let read = || -> rquickjs::Result<Option<String>> {
        let value: Js<'js> = object.get(name)?;
        if value.is_undefined() || value.is_null() {
            return Ok(None);
        }
        let text: JsString<'js> = helpers.get("text")?.call((This(helpers.0.clone()), value))?;
        helpers.text(&text).map(Some)
    };
    read().unwrap_or_else(|_| {
        drop(ctx.catch());
        None
    })
}
