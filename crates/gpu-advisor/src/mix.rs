//! [`InstructionMix`]: instructions by class, with their operations on floats.

use reuselens_warp::InstructionClass;

/// Executions of the instructions of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// By warps.
    pub warps: u64,
    /// By threads: those for which the instruction had an effect.
    pub threads: u64,
    /// Operations on floats of those threads: an addition, multiplication, division, root or the
    /// like is one, a fused multiplication and addition two.
    pub float_operations: u64,
}

impl ClassCounts {
    /// Adds other executions.
    pub fn merge(&mut self, other: &ClassCounts) {
        self.warps += other.warps;
        self.threads += other.threads;
        self.float_operations += other.float_operations;
    }
}

/// Executions of instructions by their class. Of a stream, those that access memory only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionMix {
    classes: [ClassCounts; InstructionClass::COUNT],
}

impl InstructionMix {
    /// The executions of one class.
    pub fn of(&self, class: InstructionClass) -> &ClassCounts {
        &self.classes[class as usize]
    }

    /// The classes that were executed, in the order of [`InstructionClass::ALL`].
    pub fn executed(&self) -> impl Iterator<Item = (InstructionClass, &ClassCounts)> {
        let classes = InstructionClass::ALL.into_iter().zip(&self.classes);
        classes.filter(|(_, counts)| counts.warps > 0)
    }

    /// Whether all instructions are among them, and not only those that access memory: each warp
    /// ends by an instruction of control flow.
    pub fn is_complete(&self) -> bool {
        self.of(InstructionClass::Control).warps > 0
    }

    /// All classes together.
    pub fn all(&self) -> ClassCounts {
        let mut all = ClassCounts::default();
        self.classes.iter().for_each(|counts| all.merge(counts));
        all
    }

    /// Adds executions of a class.
    pub fn add(&mut self, class: InstructionClass, counts: &ClassCounts) {
        self.classes[class as usize].merge(counts);
    }

    /// Adds the executions of another.
    pub fn merge(&mut self, other: &InstructionMix) {
        for (class, counts) in other.executed() {
            self.add(class, counts);
        }
    }
}
