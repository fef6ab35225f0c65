//! From the SDK's errors to the contract's: kind, words that help, and whether the request may have been
//! applied.

use std::error::Error as StdError;
use std::fmt;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;
use changestore_core::{Error, ErrorKind};
use changestore_retry::{Failure, Fate};

/// The most that DynamoDB takes for an item, names and all.
const ITEM_BYTES: usize = 400 * 1024;

/// What an error's words may name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) table: &'a str,
    /// About how much was sent.
    pub(crate) bytes: usize,
}

pub(crate) fn classify<E>(error: &SdkError<E, HttpResponse>, about: About<'_>) -> Failure
where
    E: StdError + ProvideErrorMetadata + Send + Sync + 'static,
{
    let Failure { error: ours, fate } = meaning(error, about);
    Failure {
        error: ours.with_source(Reported::by(error)),
        fate,
    }
}

fn meaning<E>(error: &SdkError<E, HttpResponse>, about: About<'_>) -> Failure
where
    E: StdError + ProvideErrorMetadata + 'static,
{
    match error {
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            of_code(
                service.err().code().unwrap_or_default(),
                service.err().message(),
                status,
                about,
            )
        }
        SdkError::ResponseError(response) => {
            of_bare_status(response.raw().status().as_u16(), about)
        }
        SdkError::TimeoutError(_) => Failure::timed_out(),
        // Before anything was sent: credentials, the region, the connection.
        _ if mentions::<CredentialsError>(error) => credentials(error),
        SdkError::ConstructionFailure(_) => of_configuration(error),
        SdkError::DispatchFailure(dispatch) => {
            let never_sent = find::<hyper_util::client::legacy::Error>(error)
                .is_some_and(hyper_util::client::legacy::Error::is_connect);
            if never_sent {
                return Failure::not_applied(
                    ErrorKind::Unavailable,
                    "the endpoint cannot be reached",
                );
            }
            if dispatch.is_timeout() {
                return Failure::timed_out();
            }
            if dispatch.is_io() {
                return Failure::lost("the connection broke");
            }
            of_dispatch(error)
        }
        _ => Failure {
            error: Error::new(ErrorKind::Other),
            fate: Fate::Lost,
        },
    }
}

/// What DynamoDB answered, by its code, or else by the status.
fn of_code(code: &str, message: Option<&str>, status: u16, about: About<'_>) -> Failure {
    let message = message.unwrap_or_default();
    match code {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "Throttling"
        | "RequestLimitExceeded"
        | "LimitExceededException" => Failure::not_applied(
            ErrorKind::Throttled,
            "more requests than the table, one of its partitions or the account has capacity for",
        ),
        "TransactionConflictException" | "TransactionInProgressException" => Failure::not_applied(
            ErrorKind::Unavailable,
            "a transaction of somebody else holds the item",
        ),
        "ResourceNotFoundException" => {
            let table = about.table;
            Failure::refused(
                ErrorKind::Configuration,
                format!(
                    "there is no table {table} in this account and region, or it is still being created; \
                     `changestore schema apply` creates it"
                ),
            )
        }
        "AccessDeniedException" | "AccessDenied" | "KMSAccessDeniedException" => Failure::refused(
            ErrorKind::PermissionDenied,
            "the credentials lack a right; changestore-dynamo's README has the policy",
        ),
        "ExpiredTokenException" | "ExpiredToken" | "RequestExpired" => Failure::refused(
            ErrorKind::PermissionDenied,
            "the credentials have expired; sign in again or renew the session token",
        ),
        "UnrecognizedClientException" | "InvalidClientTokenId" | "InvalidAccessKeyId" => {
            Failure::refused(
                ErrorKind::PermissionDenied,
                "the access key or the session token is not known, or is of another partition or region",
            )
        }
        "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "IncompleteSignatureException" => Failure::refused(
            ErrorKind::PermissionDenied,
            "the signature is wrong: a wrong secret key, or this machine's clock is off by minutes",
        ),
        "MissingAuthenticationTokenException" | "MissingAuthenticationToken" => {
            Failure::refused(ErrorKind::PermissionDenied, "the request was not signed")
        }
        "ValidationException" if message.contains("tem size") => too_large(about),
        "ValidationException" if message.contains("key element does not match") => {
            Failure::refused(
                ErrorKind::Configuration,
                format!(
                    "the table {} has other keys than ours: pk and sk, both text",
                    about.table
                ),
            )
        }
        "RequestEntityTooLarge" => too_large(about),
        "" => of_bare_status(status, about),
        // DynamoDB says so itself: an internal error may come after the write.
        _ if status >= 500 => Failure::lost("the server failed"),
        _ if status == 401 || status == 403 => Failure {
            error: Error::new(ErrorKind::PermissionDenied),
            fate: Fate::Refused,
        },
        _ => Failure {
            error: Error::new(ErrorKind::Other),
            fate: Fate::Refused,
        },
    }
}

/// What an answer means of which nothing but its status is known: it is a proxy's, or was cut short.
fn of_bare_status(status: u16, about: About<'_>) -> Failure {
    match status {
        413 => too_large(about),
        429 => Failure::not_applied(ErrorKind::Throttled, "too many requests"),
        401 | 403 => Failure {
            error: Error::new(ErrorKind::PermissionDenied),
            fate: Fate::Refused,
        },
        500.. => Failure::lost("the server failed"),
        _ => Failure::lost("the answer is not DynamoDB's"),
    }
}

/// The core has checked the arguments; what DynamoDB takes, something before it may not.
fn too_large(about: About<'_>) -> Failure {
    Failure {
        error: Error::too_large("item", ITEM_BYTES, about.bytes).with_message(
            "within the limits of the contract the server, or a proxy before it, takes less than DynamoDB does",
        ),
        fate: Fate::Refused,
    }
}

fn credentials(error: &(dyn StdError + 'static)) -> Failure {
    match find::<CredentialsError>(error) {
        Some(CredentialsError::ProviderTimedOut(_)) => Failure::not_applied(
            ErrorKind::Unavailable,
            "the credentials were not there in time",
        ),
        Some(CredentialsError::CredentialsNotLoaded(_)) => Failure::refused(
            ErrorKind::PermissionDenied,
            "there are no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
             or give the machine a role",
        ),
        _ => Failure::refused(
            ErrorKind::PermissionDenied,
            "the credentials cannot be loaded",
        ),
    }
}

/// What the SDK complains of before it sends anything. It has no types for it.
fn of_configuration(error: &(dyn StdError + 'static)) -> Failure {
    let words = chain(error);
    let has = |word: &str| words.to_ascii_lowercase().contains(word);
    if has("region") {
        Failure::refused(
            ErrorKind::Configuration,
            "there is no region: set AWS_REGION, or the region of the client",
        )
    } else if has("endpoint") {
        Failure::refused(
            ErrorKind::Configuration,
            "the endpoint is no URL that requests can be sent to",
        )
    } else if has("identity") || has("credential") || has("auth scheme") {
        Failure::refused(
            ErrorKind::PermissionDenied,
            "the client has no provider of credentials",
        )
    } else {
        Failure::refused(ErrorKind::Configuration, "the request could not be made")
    }
}

fn of_dispatch(error: &(dyn StdError + 'static)) -> Failure {
    let failure = of_configuration(error);
    if failure.error.message() == Some("the request could not be made") {
        return Failure::lost("the request was not answered");
    }
    failure
}

/// The first error of this type in a chain.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |error| (*error).source())
        .find_map(|error| error.downcast_ref())
}

fn mentions<E: StdError + 'static>(error: &(dyn StdError + 'static)) -> bool {
    find::<E>(error).is_some()
}

/// All words of a chain, each once.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut words = String::new();
    for error in std::iter::successors(Some(error), |error| (*error).source()) {
        let next = error.to_string();
        if !words.contains(&next) {
            if !words.is_empty() {
                words.push_str(": ");
            }
            words.push_str(&next);
        }
    }
    words
}

/// What the SDK reported, as the source of ours: its words, and no more.
///
/// The SDK's error has the whole reply in it, records and all, and what is signed is in the message of a wrong
/// signature, session token and all. Whoever prints a chain must not print those.
struct Reported(String);

impl Reported {
    fn by<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: StdError + ProvideErrorMetadata + 'static,
    {
        let Some(service) = error.as_service_error() else {
            return Self(match error {
                // The connection's own errors.
                SdkError::DispatchFailure(failure) if failure.is_io() || failure.is_timeout() => {
                    chain(error)
                }
                _ if mentions::<CredentialsError>(error) => chain(error),
                // In the chain of what could not be sent is the request, with its data and its endpoint.
                SdkError::ConstructionFailure(_) => "the request was not made".to_owned(),
                SdkError::DispatchFailure(_) => "the request was not sent".to_owned(),
                SdkError::TimeoutError(_) => "the time was over".to_owned(),
                SdkError::ResponseError(answer) => {
                    format!("an answer with status {}", answer.raw().status())
                }
                _ => "the request failed".to_owned(),
            });
        };
        let status = error
            .raw_response()
            .map_or(0, |answer| answer.status().as_u16());
        let without_code = format!("an answer with status {status} and without a code");
        let code = service.code().unwrap_or(&without_code);
        let message = match (code, service.message()) {
            (_, None) => String::new(),
            (code, Some(_)) if code.contains("ignature") => String::new(),
            (_, Some(message)) => format!(": {message}"),
        };
        let request = service
            .meta()
            .request_id()
            .map_or_else(String::new, |id| format!(" (request {id})"));
        Self(format!("{code}{message}{request}"))
    }
}

impl fmt::Debug for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Reported {}
