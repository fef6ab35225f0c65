//! gRPC as it is on the wire, as far as servers of the tests need it.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::Code;
use tonic::body::Body;

/// Answers the requests of one connection until it ends. An error of the handler's resets its stream.
pub(crate) async fn serve<S, H, F>(stream: S, handler: H)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = std::io::Result<Response<Body>>> + Send + 'static,
{
    let server = http2::Builder::new(TokioExecutor::new());
    // A client that has gone is the end of its connection and no failure.
    let _ = server
        .serve_connection(TokioIo::new(stream), service_fn(handler))
        .await;
}

/// What a request asks for, such as `ReadRows`.
pub(crate) fn method<B>(request: &Request<B>) -> String {
    let path = request.uri().path();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// An answer that is a status and nothing else.
pub(crate) fn status(code: Code, message: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static("application/grpc"),
    );
    headers.insert("grpc-status", HeaderValue::from(code as i32));
    headers.insert("grpc-message", HeaderValue::from_str(message).unwrap());
    response
}

/// A successful answer of these messages.
pub(crate) fn answer<M: prost::Message>(messages: &[M]) -> Response<Body> {
    let frames = messages.iter().map(|message| {
        let message = message.encode_to_vec();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        // A byte that says that it is not compressed, its length, and itself.
        Bytes::from([&[0][..], &length, &message].concat())
    });
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let frames: Vec<_> = frames
        .map(Frame::data)
        .chain([Frame::trailers(trailers)])
        .map(Ok::<_, std::convert::Infallible>)
        .collect();
    let body = StreamBody::new(futures::stream::iter(frames));
    let mut response = Response::new(Body::new(body.boxed_unsync()));
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static("application/grpc"),
    );
    response
}
