//! What the crate brings into a program that uses it.

use std::process::Command;

/// The names and versions of the packages that the crate is built from.
fn tree() -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "changestore-bigtable"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let mut packages: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some(format!("{} {}", words.next()?, words.next()?))
        })
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

#[test]
fn there_is_one_tls_stack_with_one_cryptography_and_one_tonic() {
    let packages = tree();
    let named = |name: &str| -> Vec<&String> {
        let is = |package: &&String| package.split(' ').next() == Some(name);
        packages.iter().filter(is).collect()
    };
    for one in [
        "rustls",
        "ring",
        "tonic",
        "prost",
        "hyper",
        "h2",
        "google-cloud-auth",
    ] {
        assert_eq!(named(one).len(), 1, "{one}: {packages:?}");
    }
    for none in ["aws-lc-rs", "native-tls", "openssl", "protoc-bin-vendored"] {
        assert!(named(none).is_empty(), "{none}");
    }
}
