//! Chains of codecs that decode no more than what their metadata allows.
//!
//! The decoders of zarrs take as much memory as the bytes ask for, and a few bytes can ask for all.
//! So each codec from bytes to bytes is wrapped: it stops at the size that a chunk, or a chunk in a
//! shard, can have there. Shards are chains in chains, and their indices are too.

use std::any::Any;
use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;

use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::codec::{ShardingCodec, ShardingCodecConfigurationV1};
use zarrs::array::{
    ArrayBytesRaw, ArrayToBytesCodecTraits, BytesRepresentation, BytesToBytesCodecTraits,
    CodecChain, CodecError, CodecMetadataOptions, CodecOptions, CodecTraits,
    RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, ZarrVersion};

/// Shards in shards, at most.
const MAX_DEPTH: usize = 8;

/// The chain of codecs that metadata names.
pub(super) fn chain(metadata: &[MetadataV3]) -> Result<CodecChain, String> {
    chain_at(metadata, 0)
}

fn chain_at(metadata: &[MetadataV3], depth: usize) -> Result<CodecChain, String> {
    if depth > MAX_DEPTH {
        return Err(format!("has shards in shards more than {MAX_DEPTH} times"));
    }
    // Said first: to make the chain below would go as deep as the metadata does.
    let sharding = metadata
        .iter()
        .find(|codec| codec.name() == "sharding_indexed");
    let shards = sharding.map(|codec| shards(codec, depth)).transpose()?;
    let plain = CodecChain::from_metadata(metadata).map_err(|error| error.to_string())?;
    let behind = plain.bytes_to_bytes_codecs();
    let names = metadata[metadata.len() - behind.len()..].iter();
    let bounded = behind.iter().zip(names).map(|(codec, metadata)| {
        Arc::new(Bounded {
            name: metadata.name().to_owned(),
            codec: Arc::clone(codec),
        }) as Arc<dyn BytesToBytesCodecTraits>
    });
    let bounded = bounded.collect();
    let to_bytes = shards.unwrap_or_else(|| Arc::clone(plain.array_to_bytes_codec()));
    let arrays = plain.array_to_array_codecs().to_vec();
    Ok(CodecChain::new(arrays, to_bytes, bounded))
}

/// The codec of shards, over chains that are bounded.
fn shards(codec: &MetadataV3, depth: usize) -> Result<Arc<dyn ArrayToBytesCodecTraits>, String> {
    let says = codec
        .configuration()
        .ok_or("has shards without a configuration")?;
    let says: ShardingCodecConfigurationV1 =
        serde_json::from_value(serde_json::Value::Object((**says).clone()))
            .map_err(|error| format!("has shards that can't be read: {error}"))?;
    Ok(Arc::new(ShardingCodec::new(
        says.chunk_shape,
        Arc::new(chain_at(&says.codecs, depth + 1)?),
        Arc::new(chain_at(&says.index_codecs, depth + 1)?),
        says.index_location,
    )))
}

/// A codec that decodes no further than to the size that is said.
#[derive(Debug)]
struct Bounded {
    name: String,
    codec: Arc<dyn BytesToBytesCodecTraits>,
}

impl ExtensionName for Bounded {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.codec.name(version)
    }
}

impl CodecTraits for Bounded {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.codec.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.codec.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.codec.partial_encoder_capability()
    }
}

impl BytesToBytesCodecTraits for Bounded {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        decoded: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.codec.recommended_concurrency(decoded)
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        self.codec.encoded_representation(decoded)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.codec.encode(bytes, options)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        size: &BytesRepresentation,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        match inflate(&self.name, &bytes, size).map_err(CodecError::Other)? {
            Some(inflated) => Ok(Cow::Owned(inflated)),
            None => self.codec.decode(bytes, size, options),
        }
    }
}

/// Inflates no further than to the bytes that a chunk may have, whatever its file says; `None` for
/// codecs that take no more than they are given.
fn inflate(
    name: &str,
    bytes: &[u8],
    size: &BytesRepresentation,
) -> Result<Option<Vec<u8>>, String> {
    let Some(limit) = size.size() else {
        return Ok(None);
    };
    let more = || format!("{name} inflates to more than the {limit} bytes of a chunk");
    match name {
        "gzip" => {
            let decoder = flate2::read::MultiGzDecoder::new(bytes);
            let inflated = bounded(decoder, limit).map_err(|error| error.to_string())?;
            inflated.map(Some).ok_or_else(more)
        }
        "zstd" => {
            let inflated = zstd::bulk::decompress(bytes, limit as usize);
            inflated.map(Some).map_err(|error| error.to_string())
        }
        // Its header says how many bytes there will be.
        "blosc" => match bytes.get(4..8) {
            Some(&[a, b, c, d]) if u64::from(u32::from_le_bytes([a, b, c, d])) > limit => {
                Err(more())
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// All that a stream has, if that is no more than `limit` bytes.
pub(super) fn bounded(stream: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    stream
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
