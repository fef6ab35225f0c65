//! Whether a server answers that has no client in its image. Docker's proxy accepts connections before the server
//! listens, so that only what the server itself says counts.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Every connection of HTTP/2 begins with this and a SETTINGS frame, here an empty one, in both directions.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const SETTINGS: u8 = 4;

/// Any answer of a web server is one, an error's too.
pub(crate) fn http(host: &str, port: u16) -> Result<(), String> {
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = ask::<8>(host, port, request).map_err(|error| error.to_string())?;
    if answer.starts_with(b"HTTP/1.") {
        return Ok(());
    }
    Err("another answer than a web server's".to_owned())
}

/// The server's own settings.
pub(crate) fn http2(host: &str, port: u16) -> Result<(), String> {
    // Three bytes of length, the frame's type, flags, and the stream.
    let frame = ask::<9>(host, port, PREFACE).map_err(|error| error.to_string())?;
    if frame[3] == SETTINGS {
        return Ok(());
    }
    Err("another answer than that of HTTP/2".to_owned())
}

fn ask<const N: usize>(host: &str, port: u16, request: &[u8]) -> io::Result<[u8; N]> {
    let mut stream = TcpStream::connect((host, port))?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    stream.write_all(request)?;
    let mut answer = [0; N];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The port of a server that says this to one client.
    fn server(says: &'static [u8]) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 16]).unwrap();
            stream.write_all(says).unwrap();
        });
        port
    }

    #[test]
    fn a_proxy_before_nothing_is_no_server() {
        assert!(http("127.0.0.1", server(b"")).is_err());
        assert!(http2("127.0.0.1", server(b"")).is_err());
    }

    #[test]
    fn servers_are_known_by_what_they_say() {
        let web = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        let settings = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64";
        assert_eq!(http("127.0.0.1", server(web)), Ok(()));
        assert_eq!(http2("127.0.0.1", server(settings)), Ok(()));
        assert!(http("127.0.0.1", server(settings)).is_err());
        assert!(http2("127.0.0.1", server(web)).is_err());
    }
}
