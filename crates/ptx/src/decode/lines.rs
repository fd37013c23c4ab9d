//! [`LineTable`]: which line of the source the instructions that follow belong to, and the calls of
//! device functions that lead there from the kernel.
//!
//! A call that the compiler put in its place is in `.loc` as `function_name …, inlined_at …`; the
//! place after `inlined_at` is that of an earlier `.loc`, which has the calls around it. A call
//! that is left in the PTX is put in its place here, with the body of its function.

use std::collections::HashMap;
use std::sync::Arc;

use reuselens_warp::DeviceCall;

use super::kernel::{SourceLine, line_text};
use crate::syntax::ast::{Ast, InlinedRef, SourceRef};

/// Calls that are kept of a place at most. A file can claim any number, each inside of another.
const MOST_CALLS: usize = 64;

/// The lines of the function body that is being decoded.
#[derive(Debug, Default)]
pub struct LineTable {
    /// Of the instructions that follow.
    current: Option<SourceLine>,
    /// The calls that lead to this body.
    outer: Arc<[DeviceCall]>,
    /// The calls that lead to each place that a `.loc` of this body named last.
    seen: HashMap<SourceRef, Arc<[DeviceCall]>>,
}

impl LineTable {
    /// The line of the instruction being decoded; none without `.loc`.
    pub fn current(&self) -> Option<SourceLine> {
        self.current.clone()
    }

    /// Takes a `.loc`.
    pub fn locate(&mut self, ast: &Ast, source: SourceRef, inlined: Option<&InlinedRef>) {
        let calls = match inlined {
            None => Arc::clone(&self.outer),
            Some(inlined) => {
                let around = self.seen.get(&inlined.at).unwrap_or(&self.outer);
                let function = ast.debug_text(&inlined.name, inlined.offset);
                let place = ast.files.get(&inlined.at.file);
                let call = DeviceCall {
                    function: function.unwrap_or_default(),
                    place: place.map_or_else(String::new, |file| line_text(file, inlined.at.line)),
                    is_inlined: true,
                };
                with_call(around, call)
            }
        };
        self.seen.insert(source, Arc::clone(&calls));
        // Line 0 is code that the compiler made and that belongs to no line.
        let file = ast.files.get(&source.file).filter(|_| source.line > 0);
        self.current = file.map(|file| SourceLine {
            file: Arc::clone(file),
            line: source.line,
            column: source.column,
            text: line_text(file, source.line).into(),
            calls,
        });
    }

    /// Begins the body of a function that is called here. Returns the lines of the caller, which
    /// take this one's place when the body has ended.
    pub fn enter(&mut self, function: &str) -> LineTable {
        let (place, around) = match &self.current {
            Some(source) => (source.text.to_string(), &source.calls),
            None => (String::new(), &self.outer),
        };
        let call = DeviceCall {
            function: function.to_owned(),
            place,
            is_inlined: false,
        };
        let outer = with_call(around, call);
        let body = LineTable {
            current: self.current.clone(),
            outer,
            seen: HashMap::new(),
        };
        std::mem::replace(self, body)
    }
}

/// The calls of a place, and one more.
fn with_call(around: &Arc<[DeviceCall]>, call: DeviceCall) -> Arc<[DeviceCall]> {
    if around.len() >= MOST_CALLS {
        return Arc::clone(around);
    }
    around.iter().cloned().chain([call]).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Device, Options, PtxModule};

    /// Line 3 is in `inner`, which the compiler put into `helper` (line 9) and into `outer` (line
    /// 13); `helper` is in the kernel at line 19, and `outer` is called at line 20.
    const PTX: &str = "
.version 8.0
.target sm_70
.address_size 64
.func outer(.param .b64 p) {
.reg .b64 %x<3>; .reg .b32 %r<2>;
.loc 1 13 5
ld.param.u64 %x1, [p];
.loc 1 3 5, function_name $L__info_string0, inlined_at 1 13 5
ld.global.u32 %r1, [%x1];
ret;
}
.visible .entry k(.param .u64 a) {
.reg .b64 %x<2>; .reg .b32 %r<3>;
.loc 1 17 5
ld.param.u64 %x1, [a];
.loc 1 9 5, function_name $L__info_string0+2, inlined_at 1 19 9
ld.global.u32 %r1, [%x1];
.loc 1 3 5, function_name $L__info_string0, inlined_at 1 9 5
ld.global.u32 %r2, [%x1];
.loc 1 20 7
{
.param .b64 q;
st.param.b64 [q], %x1;
call.uni outer, (q);
}
.loc 1 21 7
st.global.u32 [%x1], %r1;
ret;
}
.file 1 \"in.cu\"
.section .debug_str
{
$L__info_string0:
.b8 105,0,104
.b8 0
}
";

    /// The calls that lead to each global access, as `function@line`, `+` if inlined; and its line.
    fn chains(text: &str) -> Vec<(String, String)> {
        let mut device = Device::new();
        let module = device.load(PtxModule::parse(text).unwrap()).unwrap();
        let kernel = device.kernel(&module, "k", &Options::default()).unwrap();
        let sites = kernel.sites().iter();
        let global = sites.filter(|site| site.opcode.contains("global"));
        let chain = |site: &crate::AccessSite| {
            let calls = site.source.iter().flat_map(|source| source.calls.iter());
            let one = |call: &reuselens_warp::DeviceCall| {
                let inlined = if call.is_inlined { "+" } else { "" };
                format!("{}@{}{inlined}", call.function, call.place)
            };
            (
                calls.map(one).collect::<Vec<_>>().join(" "),
                site.line().to_string(),
            )
        };
        global.map(chain).collect()
    }

    #[test]
    fn calls_that_the_compiler_or_the_decoder_put_in_place_lead_to_a_line() {
        let found = chains(PTX);
        let found: Vec<_> = found
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        let expected = [
            ("h@in.cu:19+", "in.cu:9"),
            ("h@in.cu:19+ i@in.cu:9+", "in.cu:3"),
            ("outer@in.cu:20 i@in.cu:13+", "in.cu:3"),
            ("", "in.cu:21"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn code_of_line_0_has_no_line() {
        let text = PTX.replace(".loc 1 21 7", ".loc 1 0 7");
        assert_eq!(chains(&text)[3], (String::new(), String::new()));
    }

    #[test]
    fn names_that_are_missing_are_empty() {
        let text = PTX.replace("$L__info_string0:", "$other:");
        assert_eq!(chains(&text)[0].0, "@in.cu:19+");
    }

    #[test]
    fn calls_inside_of_each_other_without_end_are_cut() {
        let step = |at: u32| {
            format!(
                ".loc 1 {} 1, function_name $x, inlined_at 1 {at} 1\n",
                at + 1
            )
        };
        let chain: String = (100..400).map(step).collect();
        let text = PTX.replace(".loc 1 9 5,", &format!("{chain}.loc 1 9 5,"));
        assert_eq!(chains(&text).len(), 4);
        let text = PTX.replace(".loc 1 21 7", &chain);
        let last = &chains(&text)[3].0;
        assert_eq!(last.split(' ').count(), super::MOST_CALLS);
    }
}
