//! A condition that did not hold, told from every other failure of a request.

use std::error::Error as StdError;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
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
    StdError + ProvideErrorMetadata + Send + Sync + 'static
{
    /// Whether it is that the condition did not hold.
    fn is_refusal(&self) -> bool {
        false
    }

    /// The item on which the condition did not hold, as far as the server returns it.
    fn into_item(self) -> Option<Item>
    where
        Self: Sized,
    {
        None
    }
}

macro_rules! conditional {
    ($($error:ident)*) => {$(
        impl Conditional for $error {
            fn is_refusal(&self) -> bool {
                self.is_conditional_check_failed_exception()
            }

            fn into_item(self) -> Option<Item> {
                match self {
                    Self::ConditionalCheckFailedException(refusal) => refusal.item,
                    _ => None,
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
