//! Methods of arrays that change them.

use super::Builtin;
use crate::evaluate::{Arguments, Evaluator};
use crate::exception::EvalResult;
use crate::number;
use crate::value::Value;

impl<'a> Evaluator<'a> {
    pub(super) fn change_array(
        &mut self,
        method: Builtin,
        this: &Value<'a>,
        arguments: &Arguments<'a>,
    ) -> EvalResult<'a> {
        let array = self.writable_array(this)? as usize;
        let length = self.heap.arrays[array].items.len();
        match method {
            Builtin::ArrayPush => {
                self.charge_values(arguments.len())?;
                let items = arguments.from(0);
                self.heap.arrays[array].items.extend(items);
                Ok(Value::count(length + arguments.len()))
            }
            Builtin::ArrayPop => Ok(self.heap.arrays[array].items.pop().unwrap_or(Value::Undefined)),
            Builtin::ArrayShift => {
                self.work(length / 16)?;
                if length == 0 { Ok(Value::Undefined) } else { Ok(self.heap.arrays[array].items.remove(0)) }
            }
            Builtin::ArrayUnshift => {
                self.charge_values(arguments.len())?;
                self.work(length / 16)?;
                let items = arguments.from(0);
                self.heap.arrays[array].items.splice(0..0, items);
                Ok(Value::count(length + arguments.len()))
            }
            Builtin::ArrayReverse => {
                self.work(length / 4)?;
                self.heap.arrays[array].items.reverse();
                Ok(this.clone())
            }
            Builtin::ArrayFill => {
                let start = self.relative(&arguments.get(1), length, 0)?;
                let end = self.relative(&arguments.get(2), length, length)?;
                self.work(end.saturating_sub(start) / 4)?;
                for position in start..end {
                    self.heap.arrays[array].items[position] = arguments.get(0);
                }
                Ok(this.clone())
            }
            Builtin::ArraySort => {
                let items = self.list_items(this)?;
                let sorted = self.sorted(items, &arguments.get(0))?;
                self.heap.arrays[array].items = sorted;
                Ok(this.clone())
            }
            _ => self.splice(array, length, arguments),
        }
    }

    fn splice(&mut self, array: usize, length: usize, arguments: &Arguments<'a>) -> EvalResult<'a> {
        let start = self.relative(&arguments.get(0), length, 0)?;
        let left = length - start;
        let count = match arguments.len() {
            0 => 0,
            1 => left,
            _ => {
                let wanted = number::to_integer(self.number_of(&arguments.get(1))?);
                usize::try_from(wanted.max(0)).unwrap_or(usize::MAX).min(left)
            }
        };
        let items = arguments.from(2);
        self.charge_values(items.len() + count)?;
        self.work(length / 16)?;
        let removed: Vec<_> = self.heap.arrays[array].items.splice(start..start + count, items).collect();
        Ok(self.new_array(removed))
    }
}
