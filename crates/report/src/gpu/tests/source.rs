//! The source on the page: which columns it has, and the instructions below its lines.

use super::*;

/// A line of `inner`, which the compiler put into `helper`, and that into the kernel.
#[test]
fn lines_of_device_functions_have_the_way_from_the_kernel() {
    let mut run = run(&[128]);
    let call = |function: &str| DeviceCall {
        function: function.to_owned(),
        place: "/src/k.cu:3".to_owned(),
        is_inlined: true,
    };
    let calls: Arc<[DeviceCall]> = [call("helper"), call("inner")].into();
    run.kernels[0].by_site[1].code.calls = Arc::clone(&calls);
    let rows = run.kernels[0].branches.instructions.iter_mut();
    let rows = rows.filter(|row| row.place.ends_with(":5"));
    rows.for_each(|row| row.calls = Arc::clone(&calls));
    let summed = SummedRun::of(&run);
    let json = parsed(&summed);
    let paths = &json["by_line"][0]["paths"];
    assert!(
        paths[0].as_str().unwrap().ends_with(" › helper › inner"),
        "{paths}"
    );
    let calls = &json["kernels"][0]["sites"][1]["calls"];
    assert_eq!(
        (&calls[1]["function"], &calls[1]["is_inlined"]),
        (&"inner".into(), &true.into())
    );
    let text = gpu_text(&summed, &OPTIONS);
    assert!(text.contains("k.cu:5  inner in "), "{text}");
}

/// Columns that no line of a file has anything of would only take room.
#[test]
fn source_has_no_empty_columns() {
    let mut run = run(&[4]);
    run.kernels[0].by_site.truncate(2);
    let sources = BTreeMap::from([("/src/k.cu".to_owned(), "a\n".repeat(20))]);
    let page = gpu_page(&SummedRun::of(&run), &GpuPageOptions { sources });
    assert!(
        page.contains(">Lanes</th><th scope=\"col\">Line</th>"),
        "{page}"
    );
}

/// A page with the source of the kernels, of 20 lines.
fn page_with_source(run: &GpuRun) -> String {
    let sources = BTreeMap::from([("/src/k.cu".to_owned(), "a\n".repeat(20))]);
    gpu_page(&SummedRun::of(run), &GpuPageOptions { sources })
}

/// Line 5 has a load of 32 sectors, and three executions of an instruction on floats.
#[test]
fn instructions_of_ptx_are_below_their_line() {
    let page = page_with_source(&run(&[128]));
    assert!(page.contains("<input type=\"checkbox\"> PTX</label>"));
    let (_, line) = page.split_once("<td class=\"no\">5</td>").unwrap();
    let (line, _) = line.split_once("<td class=\"no\">6</td>").unwrap();
    let rows: Vec<&str> = line.split("<tr class=\"ptx\">").skip(1).collect();
    assert_eq!(rows.len(), 2, "{line}");
    assert!(rows[0].contains(">32</td><td>32.0</td>"), "{line}");
    let text = "<td class=\"no\">:2</td><td class=\"text\" title=\"line 21 of the PTX\">@%p1 ld.global.f32 %f1;</td>";
    assert!(rows[0].contains(text), "{line}");
    // 96 of threads by 3 warps, and nothing in memory.
    assert!(rows[1].contains("<td>96</td><td>32.0</td>"), "{line}");
    assert!(
        rows[1].contains(":3</td>") && rows[1].contains("instruction 2;"),
        "{line}"
    );
}

/// Of a stream only what accesses memory is known, by its opcode.
#[test]
fn instructions_of_a_stream_have_their_opcodes() {
    let mut run = run(&[4]);
    run.kernels[0].branches.instructions.clear();
    let page = page_with_source(&run);
    let text =
        "<td class=\"no\"></td><td class=\"text\" title=\"line 20 of the PTX\">ld.global.f32</td>";
    assert!(page.contains(text), "{page}");
}

/// Two kernels that a line was compiled for have their own instructions below it.
#[test]
fn instructions_of_several_kernels_are_apart() {
    let mut run = run(&[4, 4]);
    run.kernels[1].kernel = "other<int>".to_owned();
    let page = page_with_source(&run);
    for kernel in ["scale&lt;float&gt;", "other&lt;int&gt;"] {
        let head = "<tr class=\"ptx gap\"><td colspan=\"";
        assert!(
            page.contains(head) && page.contains(&format!("\">{kernel}</td></tr>")),
            "{page}"
        );
    }
}

/// A kernel of many instructions does not make a page of many megabytes.
#[test]
fn instructions_that_do_not_fit_are_counted() {
    let mut run = run(&[4]);
    let first = run.kernels[0].branches.instructions[0].clone();
    let more = (100..20_100).map(|instruction| InstructionExecutions {
        instruction,
        ptx_line: instruction,
        ..first.clone()
    });
    run.kernels[0].branches.instructions.extend(more);
    let page = page_with_source(&run);
    assert!(page.len() < 1 << 20, "{}", page.len());
    assert!(page.contains(" instructions left out</td></tr>"));
}

#[test]
fn json_has_each_instruction() {
    let json = parsed(&SummedRun::of(&run(&[4])));
    let row = &json["by_kernel"][0]["instructions"][2];
    let expected = serde_json::json!({
        "instruction": 2,
        "place": "/src/k.cu:5",
        "column": 3,
        "calls": [],
        "ptx_line": 22,
        "text": "instruction 2;",
        "class": "float 32",
        "warps": 3,
        "threads": 96,
    });
    assert_eq!(*row, expected);
}
