//! What the tests share: the binary, a folder that goes away, and a service with a client.

pub mod model;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The binary with these arguments.
pub fn presponse(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_presponse"));
    command.args(arguments);
    command
}

/// A folder that goes away with the test.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs the binary in the folder.
    pub fn run(&self, arguments: &[&str]) -> Output {
        presponse(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    /// Standard output of a run that succeeds.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and standard error of a run that fails.
    pub fn fail(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?} succeeds");
        (output.status.code().unwrap(), error)
    }
}

/// A service at a Unix socket; it is killed with this value.
pub struct Service {
    pub child: Child,
    socket: PathBuf,
}

impl Service {
    /// Starts it, and waits until it listens.
    pub fn start(socket: &Path, arguments: &[&str]) -> Self {
        Self::start_as(presponse(&[]), socket, arguments)
    }

    /// The same with a command that ends in the name of the program.
    pub fn start_as(mut program: Command, socket: &Path, arguments: &[&str]) -> Self {
        let socket_text = socket.to_str().unwrap();
        program.args(["serve", "--socket", socket_text, "--quiet"]);
        program.args(arguments).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("Listening at"), "{line}");
        Self {
            child,
            socket: socket.to_owned(),
        }
    }

    pub fn client(&self) -> Client {
        Client::new(UnixStream::connect(&self.socket).unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client of a service.
pub struct Client {
    input: BufReader<UnixStream>,
    output: UnixStream,
}

impl Client {
    pub fn new(stream: UnixStream) -> Self {
        Self {
            input: BufReader::new(stream.try_clone().unwrap()),
            output: stream,
        }
    }

    /// Waits until the first bytes of a reply are here, which stay unread.
    pub fn wait_for_reply(&mut self) {
        assert!(!self.input.fill_buf().unwrap().is_empty());
    }

    /// Sends bytes; false if the service has gone.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.output.write_all(bytes).is_ok()
    }

    /// The next reply; nothing if the service closes the connection.
    pub fn reply(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.input.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            // A reply that was cut off is none.
            Ok(_) => serde_json::from_str(&line).ok(),
        }
    }

    /// Sends text and returns the reply, which must come.
    pub fn ask(&mut self, text: &str) -> Value {
        assert!(self.send(text.as_bytes()));
        self.reply().unwrap()
    }
}
