//! Textures and surfaces: which texels are read, how they are mixed, and what sinks see.

use crate::common::body::{Watch, run};
use reuselens_ptx::{
    AddressMode, ChannelKind, FaultKind, Ignore, LaunchError, LaunchSink, Space, TextureDescriptor,
};

const LANES: u32 = 32;

/// Runs a body with a texture as `%x1`, its texels as `%x2`, four floats for each lane as `%f1` …
/// `%f4`, and room for 16 bytes of each lane at `%x9`. Returns what is in the room, and the texels.
fn with_texture<S: LaunchSink + Send>(
    body: &str,
    texture: TextureDescriptor,
    texels: &[u8],
    coordinates: &[[f32; 4]],
    sink: &mut S,
) -> Result<(Vec<[u32; 4]>, Vec<u8>), LaunchError> {
    let mut floats: Vec<u8> = coordinates
        .iter()
        .flatten()
        .flat_map(|f| f.to_le_bytes())
        .collect();
    floats.resize(16 * 32, 0);
    let mut buffers = [
        texture.to_bytes().to_vec(),
        texels.to_vec(),
        floats,
        vec![0; 512],
    ];
    // Where the texels are is known once the buffers have their places.
    let (_, addresses) = run("", &buffers, LANES, &mut Ignore)?;
    let placed = TextureDescriptor {
        address: addresses[1],
        ..texture
    };
    buffers[0] = placed.to_bytes().to_vec();
    let body = format!(
        ".reg .f32 %f<9>;\nmul.wide.u32 %x8, %r0, 16;\nadd.u64 %x9, %x8, %x4;\nadd.u64 %x10, %x8, %x3;\n\
         ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%x10];\n{body}\n"
    );
    let (found, _) = run(&body, &buffers, LANES, sink)?;
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let words = found[3].chunks_exact(16);
    let words = words.map(|lane| [0, 4, 8, 12].map(|at| word(&lane[at..at + 4])));
    Ok((words.collect(), found[1].clone()))
}

/// A texture of one float a texel.
fn floats(size: [u32; 3]) -> TextureDescriptor {
    let row_bytes = u64::from(size[0]) * 4;
    TextureDescriptor {
        address: 0,
        size,
        layers: 0,
        is_cube: false,
        is_seamless: false,
        row_bytes,
        layer_bytes: row_bytes * u64::from(size[1]),
        channels: 1,
        channel_bytes: 4,
        kind: ChannelKind::Float,
        modes: [AddressMode::Clamp; 3],
        is_filtered: false,
        reads_unit: false,
        takes_unit: false,
        border: [0.0; 4],
    }
}

/// The values of texels: all different.
fn values(count: u32) -> Vec<f32> {
    (0..count)
        .map(|index| (index * index % 101) as f32 + 0.5)
        .collect()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

const STORE: &str = "st.global.v4.f32 [%x9], {%f5, %f6, %f7, %f8};";

/// The first channel of what each lane reads at its coordinates.
fn read(form: &str, texture: TextureDescriptor, texels: &[u8], at: &[[f32; 4]]) -> Vec<f32> {
    let body = format!("{form}\n{STORE}");
    let found = with_texture(&body, texture, texels, at, &mut Ignore)
        .unwrap()
        .0;
    found[..at.len()]
        .iter()
        .map(|words| f32::from_bits(words[0]))
        .collect()
}

const ONE: &str = "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1}];";
const TWO: &str = "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2}];";
const THREE: &str = "tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2, %f3, %f3}];";

#[test]
fn indices_outside_go_where_the_address_mode_says() {
    let values = values(8);
    let place = |mode, takes_unit, x: f32| {
        let texture = TextureDescriptor {
            modes: [mode; 3],
            takes_unit,
            border: [77.0; 4],
            ..floats([8, 1, 1])
        };
        let x = if takes_unit { x / 8.0 } else { x };
        read(ONE, texture, &bytes_of(&values), &[[x, 0.0, 0.0, 0.0]])[0]
    };
    for takes_unit in [false, true] {
        for (index, &value) in values.iter().enumerate() {
            let x = index as f32 + 0.25;
            assert_eq!(place(AddressMode::Clamp, takes_unit, x), value);
        }
        assert_eq!(place(AddressMode::Clamp, takes_unit, -3.5), values[0]);
        assert_eq!(place(AddressMode::Clamp, takes_unit, 9.5), values[7]);
        assert_eq!(place(AddressMode::Border, takes_unit, -0.5), 77.0);
        assert_eq!(place(AddressMode::Border, takes_unit, 8.0), 77.0);
    }
    assert_eq!(place(AddressMode::Wrap, true, 9.5), values[1]);
    assert_eq!(place(AddressMode::Wrap, true, -0.5), values[7]);
    assert_eq!(place(AddressMode::Mirror, true, 8.5), values[7]);
    assert_eq!(place(AddressMode::Mirror, true, -2.5), values[2]);
    assert_eq!(place(AddressMode::Mirror, true, 17.5), values[1]);
    // Coordinates that count texels neither begin again nor go back.
    assert_eq!(place(AddressMode::Wrap, false, 9.5), values[7]);
    assert_eq!(place(AddressMode::Mirror, false, -2.5), values[0]);
}

#[test]
fn texels_are_mixed_by_the_formula_with_weights_of_256_steps() {
    let (width, height, depth) = (5, 4, 3);
    let values = values(width * height * depth);
    let texture = TextureDescriptor {
        is_filtered: true,
        ..floats([width, height, depth])
    };
    let texel = |x: i64, y: i64, z: i64| {
        let inside = |index: i64, size: u32| index.clamp(0, i64::from(size) - 1);
        let row = inside(z, depth) * i64::from(height) + inside(y, height);
        f64::from(values[(row * i64::from(width) + inside(x, width)) as usize])
    };
    let parts = |place: f32| {
        let place = f64::from(place) - 0.5;
        let share = ((place - place.floor()) * 256.0).round() / 256.0;
        [
            (place.floor() as i64, 1.0 - share),
            (place.floor() as i64 + 1, share),
        ]
    };
    let at: Vec<[f32; 4]> = (0..32)
        .map(|lane| {
            let lane = lane as f32;
            [lane * 0.19 - 0.3, lane * 0.17 - 0.4, lane * 0.13 - 0.5, 0.0]
        })
        .collect();
    let found = read(THREE, texture, &bytes_of(&values), &at);
    let flat = TextureDescriptor {
        size: [width, height, 1],
        ..texture
    };
    let of_layer = read(TWO, flat, &bytes_of(&values), &at);
    for (lane, [x, y, z, _]) in at.iter().enumerate() {
        let mut expected = 0.0;
        let mut expected_flat = 0.0;
        for (y, v) in parts(*y) {
            for (x, u) in parts(*x) {
                expected_flat += u * v * texel(x, y, 0);
                for (z, w) in parts(*z) {
                    expected += u * v * w * texel(x, y, z);
                }
            }
        }
        assert!((f64::from(found[lane]) - expected).abs() < 1e-4, "{lane}");
        assert!(
            (f64::from(of_layer[lane]) - expected_flat).abs() < 1e-4,
            "{lane}"
        );
    }
}

#[test]
fn a_coordinate_in_the_middle_of_a_texel_reads_it_alone() {
    let values = values(8);
    let texture = TextureDescriptor {
        is_filtered: true,
        ..floats([8, 1, 1])
    };
    let at: Vec<[f32; 4]> = (0..8)
        .map(|index| [index as f32 + 0.5, 0.0, 0.0, 0.0])
        .collect();
    assert_eq!(read(ONE, texture, &bytes_of(&values), &at), values);
}

#[test]
fn integers_are_read_as_they_are_or_as_floats_to_one() {
    let texels = [0x80u8, 0xff, 0x00, 0x7f, 0x81, 0x40, 0x01, 0xfe];
    let form = |result| {
        format!(
            "tex.1d.v4.{result}.f32 {{%r5, %r6, %r7, %r8}}, [%x1, {{%f1}}];\n\
         st.global.v4.u32 [%x9], {{%r5, %r6, %r7, %r8}};"
        )
    };
    let found = |kind, reads_unit, result| {
        let texture = TextureDescriptor {
            channels: 4,
            channel_bytes: 1,
            kind,
            reads_unit,
            ..floats([2, 1, 1])
        };
        let at = [[0.0; 4], [1.0; 4]];
        with_texture(&form(result), texture, &texels, &at, &mut Ignore)
            .unwrap()
            .0
    };
    let plain = found(ChannelKind::Signed, false, "s32");
    assert_eq!(plain[0].map(|word| word as i32), [-128, -1, 0, 127]);
    assert_eq!(
        found(ChannelKind::Unsigned, false, "u32")[1],
        [0x81, 0x40, 0x01, 0xfe]
    );
    let unit = found(ChannelKind::Signed, true, "f32")[0].map(f32::from_bits);
    assert_eq!(unit, [-1.0, -1.0 / 127.0, 0.0, 1.0]);
    let unit = found(ChannelKind::Unsigned, true, "f32")[1].map(f32::from_bits);
    assert_eq!(
        unit,
        [129.0, 64.0, 1.0, 254.0].map(|value: f32| value / 255.0)
    );
}

#[test]
fn what_is_read_by_index_has_zeros_around_it() {
    let values = values(8);
    let texture = TextureDescriptor {
        border: [9.0; 4],
        ..floats([8, 1, 1])
    };
    let body = format!(
        "sub.u32 %r1, %r0, 2;\ntex.1d.v4.f32.s32 {{%f5, %f6, %f7, %f8}}, [%x1, {{%r1}}];\n{STORE}"
    );
    let found = with_texture(&body, texture, &bytes_of(&values), &[], &mut Ignore);
    let found: Vec<f32> = found
        .unwrap()
        .0
        .iter()
        .map(|words| f32::from_bits(words[0]))
        .collect();
    assert_eq!(
        (found[0], found[1], found[10], found[31]),
        (0.0, 0.0, 0.0, 0.0)
    );
    assert_eq!(found[2..10], values);
}

#[test]
fn gathered_texels_come_against_the_clock() {
    let values = values(16);
    let form = "tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2}];";
    let body = format!("{form}\n{STORE}");
    let at = [[2.0, 2.0, 0.0, 0.0]];
    let texture = floats([4, 4, 1]);
    let found = with_texture(&body, texture, &bytes_of(&values), &at, &mut Ignore)
        .unwrap()
        .0;
    let expected = [values[9], values[10], values[6], values[5]];
    assert_eq!(found[0].map(f32::from_bits), expected);
}

#[test]
fn layers_are_taken_by_number_and_the_last_for_all_beyond() {
    let values = values(12);
    let texture = TextureDescriptor {
        layers: 3,
        ..floats([2, 2, 1])
    };
    let body = format!(
        "tex.a2d.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [%x1, {{%r0, %f1, %f2, %f2}}];\n{STORE}"
    );
    let at = [[1.5, 1.5, 0.0, 0.0]; 5];
    let found = with_texture(&body, texture, &bytes_of(&values), &at, &mut Ignore)
        .unwrap()
        .0;
    let found = [0, 1, 2, 3].map(|lane| f32::from_bits(found[lane][0]));
    assert_eq!(found, [values[3], values[7], values[11], values[11]]);
}

#[test]
fn sinks_see_a_load_for_each_texel_that_is_mixed() {
    let texels = bytes_of(&values(16));
    let texture = floats([4, 4, 1]);
    let at: Vec<[f32; 4]> = (0..32)
        .map(|lane| [(lane % 4) as f32 + 0.75, 1.25, 0.0, 0.0])
        .collect();
    let loads = |texture| {
        let mut watch = Watch::default();
        with_texture(TWO, texture, &texels, &at, &mut watch).unwrap();
        // Beside the coordinates, which are 16 bytes.
        let texels = watch.0.iter().filter(|access| access.3 == 4);
        texels
            .map(|access| (access.0, access.1, access.2))
            .collect::<Vec<_>>()
    };
    let point = loads(texture);
    assert_eq!(point.len(), 32);
    assert!(
        point
            .iter()
            .all(|access| (access.0, access.1) == (Space::Global, false))
    );
    assert_eq!(point[1].2 - point[0].2, 4);
    let mixed = loads(TextureDescriptor {
        is_filtered: true,
        ..texture
    });
    assert_eq!(mixed.len(), 4 * 32);
    let outside = TextureDescriptor {
        modes: [AddressMode::Border; 3],
        is_filtered: true,
        ..texture
    };
    assert!(loads(outside).len() < 4 * 32, "the border is not in memory");
}

#[test]
fn surfaces_are_read_and_written_by_bytes() {
    let texels: Vec<u8> = (0..64).collect();
    let texture = floats([4, 4, 1]);
    // Each lane writes its number beside the element, two rows down.
    let body = "and.b32 %r1, %r0, 3;\nshl.b32 %r1, %r1, 2;\nmov.u32 %r2, 1;\nmov.u32 %r3, 3;\n\
        suld.b.2d.b32.trap {%r5}, [%x1, {%r1, %r2}];\nadd.u32 %r6, %r5, %r0;\n\
        setp.lt.u32 %p1, %r0, 4;\n@%p1 sust.b.2d.b32.trap [%x1, {%r1, %r3}], {%r6};\n\
        st.global.u32 [%x9], %r5;";
    let (found, after) = with_texture(body, texture, &texels, &[], &mut Ignore).unwrap();
    assert_eq!(found[6][0].to_le_bytes(), [24, 25, 26, 27]);
    let row: Vec<u8> = (0..4u8)
        .flat_map(|lane| [16 + 5 * lane, 17 + 4 * lane, 18 + 4 * lane, 19 + 4 * lane])
        .collect();
    assert_eq!(after[48..], row);
    assert_eq!(after[..48], texels[..48]);
}

#[test]
fn accesses_outside_a_surface_trap_or_go_elsewhere() {
    let texels: Vec<u8> = (0..64).collect();
    let form = |outside: &str| {
        format!(
            "shl.b32 %r1, %r0, 2;\nmov.u32 %r2, 9;\n\
             suld.b.2d.b32.{outside} {{%r5}}, [%x1, {{%r1, %r2}}];\n\
             sust.b.2d.b32.zero [%x1, {{%r1, %r2}}], {{%r1}};\nst.global.u32 [%x9], %r5;"
        )
    };
    let run = |outside| with_texture(&form(outside), floats([4, 4, 1]), &texels, &[], &mut Ignore);
    let (found, after) = run("zero").unwrap();
    assert!(found.iter().all(|words| words[0] == 0));
    assert_eq!(after, texels);
    let found = run("clamp").unwrap().0;
    assert_eq!(found[1][0].to_le_bytes(), [52, 53, 54, 55]);
    assert_eq!(found[31][0].to_le_bytes(), [60, 61, 62, 63]);
    let Err(LaunchError::Stopped(fault)) = run("trap") else {
        panic!()
    };
    assert_eq!(fault.kind(), FaultKind::OutOfBounds);
    assert!(fault.to_string().contains("y = 9"), "{fault}");
}

#[test]
fn handles_of_nothing_are_named() {
    for (handle, what) in [("%x2", "no texture"), ("%x5", "no texture")] {
        let body = format!(
            "mov.u64 %x5, 24;\ntex.1d.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [{handle}, {{%f1}}];"
        );
        let texels = bytes_of(&values(64));
        let stopped = with_texture(&body, floats([8, 1, 1]), &texels, &[], &mut Ignore);
        let message = stopped.unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
}

const CUBE: &str = "tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2, %f3, %f3}];";
/// Texels of an edge of a cube map's faces.
const EDGE: u32 = 4;

/// A cube map, and the values of its texels by face, row and column.
fn cube(layers: u32) -> (TextureDescriptor, Vec<f32>) {
    let texture = TextureDescriptor {
        is_cube: true,
        layers,
        ..floats([EDGE, EDGE, 1])
    };
    (texture, values(6 * layers.max(1) * EDGE * EDGE))
}

/// The direction from the middle of a cube to a place on a face, by CUDA's table, and as long as
/// `m`.
fn direction(face: usize, [across, down]: [f32; 2], m: f32) -> [f32; 4] {
    let [s, t] = [across, down].map(|place| (2.0 * place / EDGE as f32 - 1.0) * m);
    let [x, y, z] = match face {
        0 => [m, -t, -s],
        1 => [-m, -t, s],
        2 => [s, m, t],
        3 => [s, -m, -t],
        4 => [s, -t, m],
        _ => [-s, -t, -m],
    };
    [x, y, z, 0.0]
}

fn of_face(values: &[f32], face: usize, column: usize, row: usize) -> f32 {
    values[(face * EDGE as usize + row) * EDGE as usize + column]
}

#[test]
fn direction_leads_to_the_texel_of_its_face() {
    let (texture, values) = cube(0);
    for face in 0..6 {
        let places = (0..16).map(|at| [at % 4, at / 4]);
        let at = places.clone().map(|place: [usize; 2]| {
            let inside = place.map(|index| index as f32 + 0.3);
            direction(face, inside, 0.5 + place[0] as f32)
        });
        let at: Vec<[f32; 4]> = at.collect();
        let expected = places.map(|[column, row]| of_face(&values, face, column, row));
        let found = read(CUBE, texture, &bytes_of(&values), &at);
        assert_eq!(found, expected.collect::<Vec<_>>(), "{face}");
    }
}

#[test]
fn layered_cube_map_has_six_faces_in_each_layer() {
    let (texture, values) = cube(3);
    let form = "tex.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%r0, %f1, %f2, %f3}];";
    let at = vec![direction(3, [1.5, 2.5], 1.0); 5];
    let found = read(form, texture, &bytes_of(&values), &at);
    let expected = [0, 1, 2, 2, 2].map(|layer| of_face(&values, layer * 6 + 3, 1, 2));
    assert_eq!(found, expected);
}

#[test]
fn texels_of_a_face_are_mixed_within_it_or_across_its_edges() {
    let (texture, values) = cube(0);
    let texel = |face, column, row| of_face(&values, face, column, row);
    let filtered = |is_seamless, place| {
        let texture = TextureDescriptor {
            is_filtered: true,
            is_seamless,
            ..texture
        };
        read(
            CUBE,
            texture,
            &bytes_of(&values),
            &[direction(4, place, 2.0)],
        )[0]
    };
    for is_seamless in [false, true] {
        let inside = (texel(4, 1, 2) + 3.0 * texel(4, 2, 2)) / 4.0;
        assert_eq!(filtered(is_seamless, [2.25, 2.5]), inside);
    }
    // A fourth of a texel from the left edge of +z, whose neighbour there is the right one of -x.
    assert_eq!(filtered(false, [0.25, 1.5]), texel(4, 0, 1));
    let across = (3.0 * texel(4, 0, 1) + texel(1, 3, 1)) / 4.0;
    assert_eq!(filtered(true, [0.25, 1.5]), across);
    // Over the top is the last row of +y.
    let over = (3.0 * texel(4, 1, 0) + texel(2, 1, 3)) / 4.0;
    assert_eq!(filtered(true, [1.5, 0.25]), over);
    // At the corner, three texels stand for four.
    assert_eq!(filtered(false, [0.25, 0.25]), texel(4, 0, 0));
    let (own, left, top) = (texel(4, 0, 0), texel(1, 3, 0), texel(2, 0, 3));
    let corner = (9.0 * own + 3.0 * left + 3.0 * top + (own + left + top) / 3.0) / 16.0;
    assert!((filtered(true, [0.25, 0.25]) - corner).abs() < 1e-5);
}

#[test]
fn texels_of_a_face_are_gathered_against_the_clock() {
    let (texture, values) = cube(2);
    for (form, layer) in [
        (
            "tld4.r.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%f1, %f2, %f3, %f3}];",
            0,
        ),
        (
            "tld4.r.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%r9, %f1, %f2, %f3}];",
            1,
        ),
    ] {
        let texture = TextureDescriptor {
            layers: if layer == 0 { 0 } else { 2 },
            ..texture
        };
        let body = format!("mov.u32 %r9, 1;\n{form}\n{STORE}");
        let at = [direction(1, [2.0, 3.0], 1.0)];
        let found = with_texture(&body, texture, &bytes_of(&values), &at, &mut Ignore);
        let found = found.unwrap().0[0].map(f32::from_bits);
        let of = |column, row| of_face(&values, layer * 6 + 1, column, row);
        assert_eq!(found, [of(1, 3), of(2, 3), of(2, 2), of(1, 2)]);
    }
}

#[test]
fn faces_of_a_cube_map_are_the_layers_of_its_surface() {
    let (texture, values) = cube(0);
    let body = "mov.u32 %r1, 4;\nmov.u32 %r2, 2;\n\
        suld.b.a2d.b32.trap {%r5}, [%x1, {%r0, %r1, %r2, %r2}];\nst.global.u32 [%x9], %r5;";
    let found = with_texture(body, texture, &bytes_of(&values), &[], &mut Ignore);
    let found = found.unwrap().0;
    for (face, words) in found[..6].iter().enumerate() {
        assert_eq!(f32::from_bits(words[0]), of_face(&values, face, 1, 2));
    }
}

#[test]
fn cube_map_accessed_as_something_else_is_an_error() {
    let (texture, values) = cube(0);
    let at = [direction(0, [1.0, 1.0], 1.0)];
    let layered = "tex.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%x1, {%r0, %f1, %f2, %f3}];";
    let flat = floats([EDGE, EDGE, 1]);
    for (form, texture, what) in [
        (TWO, texture, "cube map"),
        (CUBE, flat, "cube map"),
        (layered, texture, "without a layer"),
    ] {
        let stopped = with_texture(form, texture, &bytes_of(&values), &at, &mut Ignore);
        let Err(LaunchError::Stopped(fault)) = stopped else {
            panic!()
        };
        assert_eq!(fault.kind(), FaultKind::Operand);
        assert!(fault.to_string().contains(what), "{fault}");
    }
}
