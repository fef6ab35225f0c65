//! What the crate brings into a program that uses it.

use std::process::Command;

/// The names of the packages that the crate is built from, with this feature on.
fn tree(features: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "changestore-dynamo"])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--features", features])
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
fn there_is_one_tls_stack_one_hyper_and_no_aws_config() {
    for (features, stacks) in [("", 0), ("default-https-client", 1)] {
        let packages = tree(features);
        let named = |name: &str| -> Vec<&String> {
            let is = |package: &&String| package.split(' ').next() == Some(name);
            packages.iter().filter(is).collect()
        };
        assert_eq!(named("aws-sdk-dynamodb").len(), 1);
        assert_eq!(named("rustls").len(), stacks, "{packages:?}");
        assert_eq!(named("hyper").len(), 1, "{packages:?}");
        assert!(named("hyper")[0].contains(" v1."));
        for other in ["aws-config", "native-tls", "openssl", "s2n-tls", "ring"] {
            assert!(named(other).is_empty(), "{other}");
        }
    }
}
