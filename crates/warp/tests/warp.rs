//! Tests that streams of warp instructions are read as they were written, and that damage is
//! reported.

use proptest::prelude::*;
use reuselens_io::Input;
use reuselens_trace::TraceError;
use reuselens_warp::{
    BlockUse, DeviceCall, Extent, KernelSite, Launch, SharedArray, Space, WarpAccess, WarpBatch,
    WarpKind, WarpSink, WarpSource, WarpStep, WarpStream, accelsim, file,
};

const SITES: u32 = 5;

fn launch(kernel: &str) -> Launch {
    let call = |depth: u32| DeviceCall {
        function: format!("_Z6helper{depth}"),
        place: format!("k.cu:{depth}"),
        is_inlined: depth % 2 == 1,
    };
    let site = |at: u32| KernelSite {
        place: format!("k.cu:{at}:1"),
        text: "ld.global.f32".to_owned(),
        calls: (0..at).map(call).collect(),
    };
    Launch {
        kernel: kernel.to_owned(),
        grid: Extent { x: 3, y: 2, z: 1 },
        block: Extent::line(96),
        used: None,
        arrays: [].into(),
        sites: (0..SITES).map(site).collect(),
    }
}

fn addresses() -> impl Strategy<Value = [u64; 32]> {
    let even = (any::<u64>(), any::<i32>()).prop_map(|(first, stride)| {
        std::array::from_fn(|lane| first.wrapping_add_signed(i64::from(stride) * lane as i64))
    });
    prop_oneof![even, any::<[u64; 32]>()]
}

prop_compose! {
    fn access()(
        site in 0..SITES, position in prop_oneof![1..20_u64, any::<u64>()], block in 0..6_u32, warp in 0..3_u32,
        mask in prop_oneof![Just(u32::MAX), 1..=u32::MAX], space in 0..5_u8, kind in 0..3_u8, bytes in 1..=16_u8,
        addresses in addresses(), phase in prop_oneof![4 => Just(0), 2 => 0..3_u32, 1 => any::<u32>()],
    ) -> WarpAccess {
        let (space, kind) = (Space::from_u8(space).unwrap(), WarpKind::from_u8(kind).unwrap());
        WarpAccess { site, phase, position, block, warp, mask, space, kind, bytes, addresses }
    }
}

fn block_use() -> impl Strategy<Value = Option<BlockUse>> {
    let used = (any::<u64>(), any::<u64>(), any::<bool>());
    prop::option::of(
        used.prop_map(|(static_shared, dynamic_shared, has_exchange)| BlockUse {
            static_shared,
            dynamic_shared,
            has_exchange,
        }),
    )
}

fn stream() -> impl Strategy<Value = WarpStream> {
    let batches = prop::collection::vec(prop::collection::vec(access(), 1..40), 0..6);
    prop::collection::vec((block_use(), batches), 0..3).prop_map(|launches| {
        let mut stream = WarpStream::new();
        for (used, batches) in launches {
            let arrays = used.map_or(0, |used| used.static_shared % 4);
            let array = |at: u64| SharedArray {
                name: format!("a{at}"),
                start: at << 40,
                bytes: (at + 1 < arrays).then_some((1 << 40) - at),
            };
            let launch = Launch {
                used,
                arrays: (0..arrays).map(array).collect(),
                ..launch("k")
            };
            stream.launch(&launch).unwrap();
            for accesses in batches {
                let mut batch = WarpBatch::new();
                accesses.iter().for_each(|access| batch.push(access));
                stream.batch(&batch).unwrap();
            }
        }
        stream
    })
}

fn write(stream: &WarpStream, flush: bool) -> Vec<u8> {
    let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "a test").unwrap();
    for recorded in &stream.launches {
        writer.launch(&recorded.launch).unwrap();
        for batch in &recorded.batches {
            writer.batch(batch).unwrap();
            if flush {
                writer.flush().unwrap();
            }
        }
    }
    writer.finish().unwrap()
}

fn reader(bytes: &[u8]) -> Result<file::WarpReader, TraceError> {
    file::WarpReader::new(Input::new(std::io::Cursor::new(bytes.to_vec()), "t"))
}

/// All that can be read, and the error after it.
fn read(source: &mut dyn WarpSource) -> (WarpStream, Option<TraceError>) {
    let (mut stream, mut batch) = (WarpStream::new(), WarpBatch::new());
    loop {
        match source.next(&mut batch) {
            Ok(WarpStep::Launch(launch)) => stream.launch(&launch).unwrap(),
            Ok(WarpStep::Batch) => stream.batch(&batch).unwrap(),
            Ok(WarpStep::End) => return (stream, None),
            Err(error) => {
                assert_eq!(source.next(&mut batch).unwrap(), WarpStep::End);
                return (stream, Some(error));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn written_stream_is_read_back(stream in stream(), flush in any::<bool>()) {
        let bytes = write(&stream, flush);
        let mut reader = reader(&bytes).unwrap();
        prop_assert_eq!(reader.describe(), "a test");
        let (back, error) = read(&mut reader);
        prop_assert!(error.is_none());
        prop_assert_eq!(&back, &stream);
        prop_assert_eq!(&read(&mut stream.source()).0, &stream);
    }

    #[test]
    fn cut_off_file_is_read_up_to_its_last_complete_chunk(stream in stream(), at in 0.0..1.0_f64) {
        let bytes = write(&stream, true);
        let cut = (bytes.len() as f64 * at) as usize;
        if let Ok(mut reader) = reader(&bytes[..cut]) {
            let (back, error) = read(&mut reader);
            prop_assert!(error.is_some());
            prop_assert!(back.launches.len() <= stream.launches.len());
            for (back, whole) in back.launches.iter().zip(&stream.launches) {
                prop_assert_eq!(&back.launch, &whole.launch);
                prop_assert!(whole.batches.starts_with(&back.batches));
            }
        }
    }

    #[test]
    fn changed_bit_is_reported(stream in stream(), at in 0.0..1.0_f64, bit in 0..8_u8) {
        let mut bytes = write(&stream, true);
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] ^= 1 << bit;
        if let Ok(mut reader) = reader(&bytes) {
            prop_assert!(read(&mut reader).1.is_some());
        }
    }
}

#[test]
fn regular_kernels_take_about_a_byte_a_record() {
    let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "").unwrap();
    let launch = Launch {
        grid: Extent::line(64),
        block: Extent::line(32),
        ..launch("k")
    };
    writer.launch(&launch).unwrap();
    for block in 0..64 {
        let mut batch = WarpBatch::new();
        for position in 1..=500_u64 {
            batch.push(&WarpAccess {
                site: (position % 4) as u32,
                phase: 0,
                position,
                block,
                warp: 0,
                mask: u32::MAX,
                space: Space::Global,
                kind: WarpKind::Load,
                bytes: 4,
                addresses: std::array::from_fn(|lane| position * 128 + lane as u64 * 4),
            });
        }
        writer.batch(&batch).unwrap();
    }
    let bytes = writer.finish().unwrap().len();
    assert!(
        bytes < 32_000,
        "{bytes} bytes for 32000 records of 32 addresses"
    );
}

/// As an interpreter delivers them: all warps up to the next barrier, again and again.
#[test]
fn phases_of_regular_kernels_take_a_tenth_of_a_byte_a_record() {
    let bytes_with = |phase_of: fn(u32) -> u32| {
        let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "").unwrap();
        let launch = Launch {
            grid: Extent::line(16),
            block: Extent::line(256),
            ..launch("k")
        };
        writer.launch(&launch).unwrap();
        for block in 0..16 {
            let mut batch = WarpBatch::new();
            for (step, warp) in (0..50).flat_map(|step| (0..8).map(move |warp| (step, warp))) {
                let phase = phase_of(step);
                for at in 1..=4_u64 {
                    batch.push(&WarpAccess {
                        site: at as u32,
                        phase,
                        position: u64::from(step - phase) * 4 + at,
                        block,
                        warp,
                        mask: u32::MAX,
                        space: Space::Shared,
                        kind: WarpKind::Load,
                        bytes: 4,
                        addresses: std::array::from_fn(|lane| at * 128 + lane as u64 * 4),
                    });
                }
            }
            writer.batch(&batch).unwrap();
        }
        writer.finish().unwrap().len()
    };
    let (with, without) = (bytes_with(|step| step), bytes_with(|_| 0));
    let records = 16 * 50 * 8 * 4;
    assert!(with <= without + records / 10, "{with} and {without} bytes");
}

/// The version is in the head, which has a checksum of its own.
fn with_version(mut bytes: Vec<u8>, version: u16) -> Vec<u8> {
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    let end = 16 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let check = crc32fast::hash(&bytes[..end]).to_le_bytes();
    bytes[end..end + 4].copy_from_slice(&check);
    bytes
}

#[test]
fn file_of_version_2_is_read_as_one_phase() {
    // Pieces without phases are as they were in version 2.
    let mut access = WarpAccess {
        site: 1,
        phase: 0,
        position: 3,
        block: 5,
        warp: 1,
        mask: 5,
        space: Space::Global,
        kind: WarpKind::Store,
        bytes: 4,
        addresses: [64; 32],
    };
    let stream = |access: &WarpAccess| {
        let (mut stream, mut batch) = (WarpStream::new(), WarpBatch::new());
        stream.launch(&launch("k")).unwrap();
        batch.push(access);
        stream.batch(&batch).unwrap();
        stream
    };
    let old = with_version(write(&stream(&access), false), 2);
    let (back, error) = read(&mut reader(&old).unwrap());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(back, stream(&access));
    let refused = reader(&with_version(old, 1)).err().unwrap().to_string();
    assert!(refused.contains("versions 2 to 4"), "{refused}");
    access.phase = 7;
    let (back, _) = read(&mut reader(&write(&stream(&access), false)).unwrap());
    assert_eq!(back.launches[0].batches[0].rows().next().unwrap().phase, 7);
}

#[test]
fn small_batches_with_a_large_site_number_are_written_quickly() {
    // 2^17 batches of 8 bytes each. State for the 2^20 instructions that there may be, made anew
    // for each of them, would be 4 TB to write.
    let launch = Launch {
        sites: [].into(),
        ..launch("k")
    };
    let mut batch = WarpBatch::new();
    batch.push(&WarpAccess {
        site: (1 << 20) - 1,
        phase: 0,
        position: 1,
        block: 0,
        warp: 0,
        mask: u32::MAX,
        space: Space::Global,
        kind: WarpKind::Load,
        bytes: 4,
        addresses: [0; 32],
    });
    let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "").unwrap();
    writer.launch(&launch).unwrap();
    let batches = 1 << 17;
    for _ in 0..batches {
        writer.batch(&batch).unwrap();
    }
    let bytes = writer.finish().unwrap();
    assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
    let (mut reader, mut back) = (reader(&bytes).unwrap(), WarpBatch::new());
    assert_eq!(reader.next(&mut back).unwrap(), WarpStep::Launch(launch));
    for _ in 0..batches {
        assert_eq!(reader.next(&mut back).unwrap(), WarpStep::Batch);
        assert_eq!(back, batch);
    }
    assert_eq!(reader.next(&mut back).unwrap(), WarpStep::End);
}

#[test]
fn writer_refuses_records_that_do_not_fit_the_launch() {
    let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "").unwrap();
    let mut batch = WarpBatch::new();
    let mut access = WarpAccess {
        site: 0,
        phase: 0,
        position: 1,
        block: 6,
        warp: 0,
        mask: 1,
        space: Space::Global,
        kind: WarpKind::Load,
        bytes: 4,
        addresses: [0; 32],
    };
    batch.push(&access);
    assert!(
        writer
            .batch(&batch)
            .unwrap_err()
            .to_string()
            .contains("before any launch")
    );
    writer.launch(&launch("k")).unwrap();
    assert!(
        writer
            .batch(&batch)
            .unwrap_err()
            .to_string()
            .contains("does not have")
    );
    batch.clear();
    access.block = 5;
    batch.push(&access);
    writer.batch(&batch).unwrap();
}

#[test]
fn writer_states_why_it_refuses_a_launch() {
    let array = |start| SharedArray {
        name: "a".to_owned(),
        start,
        bytes: Some(4),
    };
    let with_arrays = |used, starts: std::ops::Range<u64>| Launch {
        used,
        arrays: starts.map(|at| array(at * 4)).collect(),
        ..launch("k")
    };
    let used = Some(BlockUse::default());
    let sites = vec![KernelSite::default(); (1 << 20) + 1];
    let overlapping = [array(0), array(3)];
    for (launch, why) in [
        (with_arrays(used, 0..(1 << 16) + 1), "65537 arrays"),
        (with_arrays(None, 0..1), "not what its blocks use"),
        (
            Launch {
                arrays: overlapping.into(),
                ..with_arrays(used, 0..0)
            },
            "overlap",
        ),
        (
            Launch {
                sites: sites.into(),
                ..launch("k")
            },
            "1048577 memory instructions",
        ),
        (launch(&"k".repeat((64 << 20) + 1)), "bytes of names"),
    ] {
        let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "").unwrap();
        let error = writer.launch(&launch).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut writer = file::WarpWriter::new(Vec::new(), "t".as_ref(), "").unwrap();
    writer.launch(&with_arrays(used, 0..1 << 16)).unwrap();
}

const HEAD: &str = "-kernel name = vecadd\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n\
    -shmem base_addr = 0x7f0000000000\n-accelsim tracer version = 3\n\n\
    #traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses]\n\n";
const BLOCK: &str = "#BEGIN_TB\n\nthread block = 1,0,0\n\nwarp = 1\ninsts = 3\n\
    0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 \n\
    0010 ffffffff 1 R4 LDG.E.SYS 1 R4 4 1 0x7e0000 4 \n\
    0020 00000003 0 ST.E 2 R4 R2 4 0 0x7f0000000010 0x7f0000000020 \n\n\
    warp = 0\ninsts = 1\n0020 00000001 0 ST.E 2 R4 R2 4 0 0x8 \n\n#END_TB\n";

fn traceg(text: String) -> accelsim::KernelReader {
    accelsim::KernelReader::new(Input::new(
        std::io::Cursor::new(text.into_bytes()),
        "t.traceg",
    ))
}

#[test]
fn accel_sim_kernel_is_read() {
    let mut reader = traceg(format!("{HEAD}{BLOCK}"));
    let (stream, error) = read(&mut reader);
    assert!(error.is_none(), "{error:?}");
    let recorded = &stream.launches[0];
    assert_eq!(recorded.launch.kernel, "vecadd");
    assert_eq!(
        (recorded.launch.grid.count(), recorded.launch.warps()),
        (2, 2)
    );
    let rows: Vec<_> = recorded.batches[0].rows().collect();
    let heads: Vec<_> = rows
        .iter()
        .map(|r| (r.block, r.warp, r.position, r.site, r.space))
        .collect();
    assert_eq!(
        heads,
        [
            (1, 1, 1, 2, Space::Global),
            (1, 1, 2, 4, Space::Shared),
            (1, 0, 1, 4, Space::Global)
        ]
    );
    assert_eq!(rows[0].addresses[31], 0x7e_0000 + 124);
    assert_eq!(rows[1].addresses, [0x7f00_0000_0010, 0x7f00_0000_0020]);
}

#[test]
fn accel_sim_barriers_begin_phases() {
    let bar = |mask: &str| format!("0030 {mask} 0 BAR.SYNC.DEFER_BLOCKING 0 0 \n");
    let load = "0010 ffffffff 1 R4 LDG.E.SYS 1 R4 4 1 0x7e0000 4 \n";
    let high_load = load.replace("ffffffff", "ffff0000");
    // Lanes that have parted come to a barrier one group after the other, the second after a load.
    let (all, low, high) = (bar("ffffffff"), bar("0000ffff"), bar("ffff0000"));
    let block = format!(
        "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 9\n\
         {load}{load}{all}{load}{low}{high_load}{high}{load}{load}\n\n\
         warp = 1\ninsts = 3\n{all}{all}{load}\n\n#END_TB\n"
    );
    let (stream, error) = read(&mut traceg(format!("{HEAD}{block}")));
    assert!(error.is_none(), "{error:?}");
    let rows = stream.launches[0].batches[0].rows();
    let found: Vec<_> = rows
        .map(|row| (row.warp, row.phase, row.position))
        .collect();
    let first = [
        (0, 0, 1),
        (0, 0, 2),
        (0, 1, 1),
        (0, 1, 2),
        (0, 2, 1),
        (0, 2, 2),
    ];
    assert_eq!(found[..6], first);
    assert_eq!(found[6..], [(1, 2, 1)]);
}

#[test]
fn damage_in_an_accel_sim_kernel_is_reported_with_its_line_after_good_records() {
    let wrong = [
        (
            "R4 LDG.E.SYS 1 R4 4 1 0x7e0000 4",
            "R4 LDG.E.SYS 1 R4 4 1 0x7e0000",
            "line 17",
        ),
        ("thread block = 1,0,0", "thread block = 2,0,0", "line 12"),
        ("warp = 0", "warp = 2", "line 20"),
        ("insts = 1\n", "insts = 2\n", "more instructions"),
        ("0x8 \n\n#END_TB\n", "0x8 \n", "cut off"),
    ];
    for (from, to, says) in wrong {
        let (stream, error) = read(&mut traceg(format!("{HEAD}{}", BLOCK.replace(from, to))));
        let error = error.expect(from).to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(stream.launches.len(), 1);
    }
    assert!(
        read(&mut traceg("-kernel name = k\n#BEGIN_TB\n".into()))
            .1
            .is_some()
    );
    let (stream, _) = read(&mut traceg(format!("{HEAD}{}", BLOCK.replace("0x8 ", "x"))));
    assert_eq!(stream.records(), 2);
}

#[test]
fn accel_sim_list_is_read_in_order_and_formats_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["kernel-1.traceg", "kernel-2.traceg"] {
        let text = format!("{HEAD}{BLOCK}").replace("vecadd", name);
        std::fs::write(path(name), text).unwrap();
    }
    let list = "MemcpyHtoD,0x00007efe7b500000,2052\nkernel-2.traceg\n\nkernel-1.traceg\n";
    std::fs::write(path("kernelslist.g"), list).unwrap();
    let open = |name: &str| reuselens_warp::open_warps(&path(name));
    let stream = WarpStream::read(&mut *open("kernelslist.g").unwrap()).unwrap();
    let kernels: Vec<_> = stream
        .launches
        .iter()
        .map(|l| &l.launch.kernel[..])
        .collect();
    assert_eq!(kernels, ["kernel-2.traceg", "kernel-1.traceg"]);
    let mut named = stream.clone();
    named.launches[0].launch.sites = [].into();
    std::fs::write(path("s.rlwarp"), write(&named, false)).unwrap();
    assert_eq!(
        WarpStream::read(&mut *open("s.rlwarp").unwrap()).unwrap(),
        named
    );
    std::fs::write(path("other"), "hello").unwrap();
    assert!(open("other").err().unwrap().to_string().contains("gpu run"));
    std::fs::write(path("kernelslist.g"), "kernel-../../etc.traceg\n").unwrap();
    assert!(WarpStream::read(&mut *open("kernelslist.g").unwrap()).is_err());
}
