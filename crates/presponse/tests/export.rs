//! `export`: differences of streams and of folders of the service.

use crate::common::{Place, Service};

#[test]
fn stream_is_exported_as_what_it_changes() {
    let place = Place::new();
    place.write("graph", "7 5\n5 9\n");
    place.write("stream", "+ 9 7\n+ 5 7\n- 1 2\n+ 3 3\n- 9 5\n");
    let text = place.succeed(&["export", "graph", "--stream", "stream", "--batch", "2"]);
    let expected = "# presponse differences, undirected: from to batch difference\n# batch 0\n\
                    7 5 0 1\n5 9 0 1\n# batch 1\n7 9 1 1\n# batch 2\n# batch 3\n5 9 3 -1\n\
                    # vertices 6\n";
    assert_eq!(text, expected);
    let (code, error) = place.fail(&["export", "graph"]);
    assert!(code == 2 && error.contains("add --stream FILE"), "{error}");
    let (_, error) = place.fail(&["export", "nothing"]);
    assert!(error.contains("nothing"), "{error}");
}

#[test]
fn folder_is_exported_from_its_snapshot_on() {
    let place = Place::new();
    let state = place.path("state");
    let arguments = ["--directed", "--state", state.to_str().unwrap()];
    let service = Service::start(&place.path("socket"), &arguments);
    let mut client = service.client();
    client.ask("apply 2\n+ 1 2\n+ 2 1\n");
    client.ask("snapshot\n");
    client.ask("apply 2\n- 2 1\n+ 4 1\n");
    drop(service);
    let text = place.succeed(&["export", "state"]);
    let expected = "# presponse differences, directed: from to batch difference\n# batch 1\n\
                    1 2 1 1\n2 1 1 1\n# batch 2\n2 1 2 -1\n4 1 2 1\n# vertices 3\n";
    assert_eq!(text, expected);
    place.succeed(&["export", "state", "-o", "differences"]);
    assert_eq!(
        std::fs::read_to_string(place.path("differences")).unwrap(),
        expected
    );
}
