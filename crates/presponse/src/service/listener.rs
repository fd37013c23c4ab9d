//! [`Listener`]: a loopback TCP or Unix socket, and its connections.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::exit::WrongUsage;

/// How long a client may take to accept a reply.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where clients connect.
#[derive(Debug)]
pub enum Listener {
    /// A port of this machine.
    Tcp(TcpListener),
    /// A socket in the file system, which is removed with this value.
    Unix(UnixListener, PathBuf),
}

/// A connection. Reading and writing take `&self`, so that two threads can do it.
#[derive(Debug)]
pub enum Connection {
    /// From a port.
    Tcp(TcpStream),
    /// From a socket in the file system.
    Unix(UnixStream),
}

impl Listener {
    /// Listens at an address such as `127.0.0.1:7001`; port 0 is a free one.
    ///
    /// # Errors
    /// If the address is none of this machine's own loopback, or is taken.
    pub fn tcp(address: SocketAddr) -> anyhow::Result<Self> {
        if !address.ip().is_loopback() {
            let what = "whoever can reach it could change the graph; use 127.0.0.1 and a tunnel";
            return Err(WrongUsage(format!("{address} is no loopback address: {what}")).into());
        }
        let listener = TcpListener::bind(address);
        let listener = listener.with_context(|| {
            format!("cannot listen at {address}; choose another port, or port 0 for a free one")
        })?;
        Ok(Self::Tcp(listener))
    }

    /// Listens at a socket in the file system. One that nobody listens at is replaced.
    ///
    /// # Errors
    /// If something else is there, somebody listens, or the socket cannot be made.
    pub fn unix(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        if let Ok(about) = fs::symlink_metadata(path) {
            if !about.file_type().is_socket() {
                anyhow::bail!("{shown} exists and is no socket; name another place");
            }
            if UnixStream::connect(path).is_ok() {
                anyhow::bail!("another process listens at {shown}; end it, or name another place");
            }
            fs::remove_file(path).with_context(|| format!("cannot replace {shown}"))?;
        }
        let listener = UnixListener::bind(path);
        let listener = listener.with_context(|| format!("cannot make the socket {shown}"))?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    /// The address, for people.
    pub fn shown(&self) -> String {
        match self {
            Self::Tcp(listener) => match listener.local_addr() {
                Ok(address) => address.to_string(),
                Err(_) => "a TCP port".to_owned(),
            },
            Self::Unix(_, path) => path.display().to_string(),
        }
    }

    /// Waits for the next client.
    ///
    /// # Errors
    /// If the system refuses, as when there are too many open files.
    pub fn accept(&self) -> io::Result<Connection> {
        let connection = match self {
            Self::Tcp(listener) => {
                let stream = listener.accept()?.0;
                // A reply is a small packet that should not wait.
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Connection::Tcp(stream)
            }
            Self::Unix(listener, _) => {
                let stream = listener.accept()?.0;
                stream.set_write_timeout(Some(PATIENCE))?;
                Connection::Unix(stream)
            }
        };
        Ok(connection)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // What stays is replaced at the next start.
            let _ = fs::remove_file(path);
        }
    }
}

impl Read for &Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(stream) => (&*stream).read(into),
            Connection::Unix(stream) => (&*stream).read(into),
        }
    }
}

impl Write for &Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(stream) => (&*stream).write(bytes),
            Connection::Unix(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
