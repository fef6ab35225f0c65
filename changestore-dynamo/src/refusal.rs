//! A condition that did not hold, told from every other failure of a request.

use std::error::Error as StdError;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::operation::describe_time_to_live::DescribeTimeToLiveError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_time_to_live::UpdateTimeToLiveError;

use crate::layout::Item;

/// The error of a request that may have a condition.
pub(crate) trait Conditional:
    StdError + ProvideErrorMetadata + Sized + Send + Sync + 'static
{
    /// The item on which the condition failed, as far as the server returns it; or the error, if it is another.
    fn refusal(
        error: SdkError<Self, HttpResponse>,
    ) -> Result<Option<Item>, SdkError<Self, HttpResponse>> {
        Err(error)
    }
}

macro_rules! conditional {
    ($($error:ident)*) => {$(
        impl Conditional for $error {
            fn refusal(
                error: SdkError<Self, HttpResponse>,
            ) -> Result<Option<Item>, SdkError<Self, HttpResponse>> {
                let is_refusal = error
                    .as_service_error()
                    .is_some_and(Self::is_conditional_check_failed_exception);
                if !is_refusal {
                    return Err(error);
                }
                match error.into_service_error() {
                    Self::ConditionalCheckFailedException(refusal) => Ok(refusal.item),
                    _ => Ok(None),
                }
            }
        }
    )*};
}

macro_rules! unconditional {
    ($($error:ident)*) => {$(
        impl Conditional for $error {}
    )*};
}

conditional!(DeleteItemError PutItemError UpdateItemError);
unconditional!(
    CreateTableError DescribeTableError DescribeTimeToLiveError GetItemError QueryError
    UpdateTimeToLiveError
);
