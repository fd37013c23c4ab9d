//! [`StoredGpuRun`]: what is read back from the JSON of a run of a GPU program ([`gpu_json`]). It
//! is for comparing runs ([`gpu_diff`]) and for their findings ([`GpuFindings`]); fields that
//! neither needs are skipped.
//!
//! [`gpu_json`]: super::gpu_json
//! [`gpu_diff`]: super::gpu_diff
//! [`GpuFindings`]: super::GpuFindings

use serde::Deserialize;

use super::json::GPU_SCHEMA;

/// Why a file is not a run of a GPU program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredGpuRunError {
    /// It is not JSON, or not with these fields.
    #[error("it is no run of a GPU program: {0}")]
    NotARun(String),
    /// It has another schema.
    #[error("its schema is {0:?}; this version reads {GPU_SCHEMA:?}")]
    Schema(String),
}

/// A run of a GPU program, as its JSON has it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct StoredGpuRun {
    schema: String,
    pub(super) command: String,
    /// Files of earlier versions do not have it.
    #[serde(default)]
    pub(super) origin: String,
    #[serde(default)]
    pub(super) model: Option<StoredModel>,
    #[serde(default)]
    pub(super) faults: Vec<StoppedKernel>,
    #[serde(default)]
    pub(super) unanalysed_launches: u64,
    pub(super) by_kernel: Vec<StoredKernel>,
    pub(super) by_line: Vec<StoredLine>,
    pub(super) by_object: Vec<StoredObject>,
    pub(super) findings: Vec<StoredFinding>,
}

impl StoredGpuRun {
    /// Reads the JSON of [`gpu_json`](super::gpu_json).
    ///
    /// # Errors
    /// If it is none, or of another schema.
    pub fn parse(text: &str) -> Result<StoredGpuRun, StoredGpuRunError> {
        let run: StoredGpuRun = serde_json::from_str(text)
            .map_err(|error| StoredGpuRunError::NotARun(error.to_string()))?;
        if run.schema == GPU_SCHEMA {
            Ok(run)
        } else {
            Err(StoredGpuRunError::Schema(run.schema))
        }
    }
}

/// A kernel that was stopped, or a launch that was refused, as reports show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StoppedKernel {
    /// What it did, and where: kernel, line and thread, as far as they are known.
    pub message: String,
    /// Who launched it, and which object it missed or misused, as phrases. Files of earlier
    /// versions do not have them.
    #[serde(default)]
    pub facts: Vec<String>,
}

/// The GPU whose caches were modelled.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredModel {
    pub name: String,
}

/// All launches of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredKernel {
    pub kernel: String,
    pub launches: u64,
    pub thread_instructions: u64,
    pub global: StoredGlobal,
    pub shared: StoredBanks,
    pub l1: Option<StoredCache>,
    pub block_executions: u64,
    pub divergent_block_executions: u64,
}

impl StoredKernel {
    /// The share of the executions of basic blocks in which a part of a warp's threads took part.
    pub fn divergence(&self) -> Option<f64> {
        let all = self.block_executions;
        (all > 0).then(|| self.divergent_block_executions as f64 / all as f64)
    }
}

/// A source line of kernels.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredLine {
    pub line: String,
    pub kernels: Vec<String>,
    pub global: StoredGlobal,
}

/// A data object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredObject {
    pub name: String,
    pub loads: StoredGlobal,
    pub stores: StoredGlobal,
}

/// Accesses of global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredGlobal {
    pub sectors: u64,
}

/// Accesses of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredBanks {
    pub wavefronts: u64,
    pub ideal_wavefronts: u64,
}

impl StoredBanks {
    /// Wavefronts that conflicts between banks cost.
    pub fn conflicts(self) -> u64 {
        self.wavefronts.saturating_sub(self.ideal_wavefronts)
    }
}

/// Sectors of the loads of a modelled cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredCache {
    pub loads: u64,
    pub load_hits: u64,
}

impl StoredCache {
    /// The share of the loads that hit; `None` if nothing was loaded.
    pub fn hit_rate(self) -> Option<f64> {
        (self.loads > 0).then(|| self.load_hits as f64 / self.loads as f64)
    }
}

/// A finding, as [`finding_json`](crate::advice::finding_json) writes it. Its rule may be one that
/// this version does not have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredFinding {
    pub rule: String,
    pub title: String,
    pub source: Option<String>,
    pub function: Option<String>,
    #[serde(default)]
    pub call_path: Vec<String>,
    pub object: Option<String>,
    pub evidence: Vec<String>,
    pub cost: StoredCost,
    pub remedy: String,
    pub confidence: String,
}

/// What a finding costs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct StoredCost {
    pub amount: u64,
    pub unit: String,
    pub share: f64,
}
