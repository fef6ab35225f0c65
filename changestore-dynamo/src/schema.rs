//! The table's definition as the AWS command line takes it, and as CloudFormation does.

/// For `aws dynamodb create-table --cli-input-json`.
pub const CREATE_TABLE: &str = include_str!("../schema/create-table.json");

/// For `aws dynamodb update-time-to-live --cli-input-json`.
pub const UPDATE_TIME_TO_LIVE: &str = include_str!("../schema/update-time-to-live.json");

/// A template for CloudFormation with both in it.
pub const CLOUDFORMATION: &str = include_str!("../schema/cloudformation.json");
