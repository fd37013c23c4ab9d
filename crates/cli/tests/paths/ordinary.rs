//! Ordinary programs of random control flow, in C: loops of all kinds, conditions, switches and
//! calls, written as people write them. Compilers are free to lay them out as they like.

use std::fmt::Write;

use super::reference::programs::Random;

/// Functions of a program, each of which calls those after it and itself.
const FUNCTIONS: u64 = 4;
/// Choices that a program makes when it runs, then it ends; and its most rounds, for one without
/// choices.
const CHOICES: u32 = 700;

/// Choices after which a program ends soon: what is chosen then is 0, so nothing is called, and
/// loops that end by choice end.
const LAST_CHOICE: u32 = 4000;

/// What all programs begin and end with. They use no library, so all their code is their own.
const FRAME: &str = "\
static unsigned char data[1024];
static unsigned long a[64], b[64], c[64];
static unsigned next, seed = 12345;
static unsigned choice(void) { return next < LAST_CHOICE ? data[next++ & 1023] : 0; }
void *memset(void *to, int value, unsigned long bytes) {
    volatile char *at = to;
    while (bytes--) *at++ = value;
    return to;
}
void *memcpy(void *to, const void *from, unsigned long bytes) {
    volatile char *at = to;
    const char *source = from;
    while (bytes--) *at++ = *source++;
    return to;
}
__asm__(\".globl _start\\n_start: xor %ebp, %ebp\\n and $-16, %rsp\\n call program\\n\"
        \"mov $60, %eax\\n xor %edi, %edi\\n syscall\\n\");
";

/// A program's source.
pub fn source(seed: u64) -> String {
    let mut writer = Writer {
        text: FRAME.replace("LAST_CHOICE", &LAST_CHOICE.to_string()),
        random: Random(seed),
        names: 0,
        function: 0,
        around: Vec::new(),
    };
    for function in 0..FUNCTIONS {
        let _ = writeln!(writer.text, "static void f{function}(unsigned depth);");
    }
    for function in (0..FUNCTIONS).rev() {
        writer.function(function);
    }
    let _ = write!(
        writer.text,
        "__attribute__((used)) void program(void) {{
    for (unsigned i = 0; i < 1024; i++) {{
        seed = seed * 1103515245 + {};
        data[i] = seed >> 16;
    }}
    for (int round = 0; round < {CHOICES} && next < {CHOICES}; round++) f0(0);
}}\n",
        12345 + 2 * seed
    );
    writer.text
}

struct Writer {
    text: String,
    random: Random,
    /// Variables that have a name.
    names: u32,
    /// The function that is being written.
    function: u64,
    /// Whether the loops and switches around are loops, the innermost last.
    around: Vec<bool>,
}

impl Writer {
    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.below(words.len() as u64) as usize]
    }

    fn function(&mut self, function: u64) {
        self.function = function;
        let inlined = self.one_of(&["", "__attribute__((noinline)) "]);
        let _ = writeln!(
            self.text,
            "{inlined}static void f{function}(unsigned depth) {{\n    unsigned v = seed;"
        );
        self.statements(3);
        self.text.push_str("    seed = v;\n}\n");
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(3) {
            self.access();
            let most = if depth == 0 { 5 } else { 14 };
            match self.random.below(most) {
                0 => self.access(),
                1 => self.line("v = v * 1103515245 + 12345;"),
                2 => self.leave(),
                3 => self.call(),
                4 => self.line("if (choice() & 1) c[v >> 20 & 63] += v;"),
                5..=7 => self.condition(depth - 1),
                8 => self.switch(depth - 1),
                _ => self.repeat(depth - 1),
            }
        }
        self.access();
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn access(&mut self) {
        let array = self.one_of(&["a", "b", "c"]);
        let index = self.one_of(&["next & 63", "v & 63", "depth", "3", "v >> 9 & 63"]);
        let change = self.one_of(&["++", " += 2", " ^= v", " -= depth"]);
        self.line(&format!("{array}[{index}]{change};"));
    }

    /// A condition that nobody knows before the program runs.
    fn test(&mut self) -> &'static str {
        self.one_of(&[
            "choice() & 1",
            "choice() & 1",
            "choice() > 200",
            "choice() < 230",
            "(v = v * 1103515245 + 12345 + choice()) & 0x40000",
            "(choice() & 3) == 2 || a[v & 63] & 1",
            "choice() & 2 && b[next & 63] & 1",
        ])
    }

    fn condition(&mut self, depth: u32) {
        let test = self.test();
        self.line(&format!("if ({test}) {{"));
        self.statements(depth);
        if self.random.below(3) > 0 {
            self.line("} else {");
            self.statements(depth);
        }
        self.line("}");
    }

    fn switch(&mut self, depth: u32) {
        self.line("switch (choice() & 7) {");
        self.around.push(false);
        for case in 0..4 + self.random.below(4) {
            self.line(&format!("case {case}:"));
            match depth {
                0 => self.access(),
                _ => self.statements(0),
            }
            if self.random.below(4) > 0 {
                self.line("break;");
            }
        }
        self.around.pop();
        self.line("default: c[5]++;\n}");
    }

    fn repeat(&mut self, depth: u32) {
        self.names += 1;
        let name = format!("n{}", self.names);
        let test = self.test();
        let bound = self.one_of(&["3", "1 + choice() % 6", "choice() & 3", "5", "1 + (v & 3)"]);
        let (head, foot) = match self.random.below(6) {
            0 | 1 => (
                format!(
                    "for (unsigned {name} = 0, e{name} = {bound}; {name} < e{name}; {name}++) {{"
                ),
                "}".to_owned(),
            ),
            2 => (
                format!("{{ unsigned {name} = {bound}; while ({name}) {{ {name}--;"),
                "} }".to_owned(),
            ),
            3 => (
                format!("{{ unsigned {name} = {bound}; do {{"),
                format!("}} while ({name}-- > 1); }}"),
            ),
            4 => (
                "do {".to_owned(),
                format!("}} while (({test}) && next < {LAST_CHOICE});"),
            ),
            _ => (
                "for (;;) {".to_owned(),
                format!("if (({test}) || next >= {LAST_CHOICE}) break; }}"),
            ),
        };
        self.line(&head);
        self.around.push(true);
        self.statements(depth);
        self.around.pop();
        self.line(&foot);
    }

    /// Leaves a loop, begins its next iteration, or leaves the function.
    fn leave(&mut self) {
        let test = self.test();
        let where_to = match self.around.last() {
            Some(true) => self.one_of(&["break", "break", "continue", "return"]),
            Some(false) => "break",
            None => "return",
        };
        // What would begin the next iteration again and again does so no more at the end.
        self.line(&match where_to {
            "continue" => format!("if (({test}) && next < {LAST_CHOICE}) continue;"),
            _ => format!("if ({test}) {where_to};"),
        });
    }

    fn call(&mut self) {
        let callee = self.function + self.random.below(FUNCTIONS - self.function);
        let depth = if callee == self.function {
            "depth + 1"
        } else {
            "depth"
        };
        self.line(&format!(
            "if (depth < 2 && choice() & 1) f{callee}({depth});"
        ));
    }
}
