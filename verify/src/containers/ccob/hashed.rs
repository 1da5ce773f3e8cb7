//! A stream that is hashed while it is read.
//!
//! MD5 is a chain: its 600 MB a second bound everything else, so a thread of its own hashes what the
//! reader is done with, in chunks whose memory goes round.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use md5::{Digest, Md5};

use crate::bytes::u64_at;

/// Bytes of a chunk: few enough for a cache, many enough for a hand-over.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks on their way to the hash.
const CHUNKS: usize = 16;
/// Below this, a thread costs more than it saves.
const THREAD_BYTES: u64 = 4 << 20;

/// Lets `read` consume `packed`, of about `bytes` bytes; returns the low half of the MD5 of what it
/// consumed.
pub(super) fn read<R: Read>(
    packed: R,
    bytes: u64,
    read: impl FnOnce(&mut Stream<R>) -> Result<(), String>,
) -> Result<u64, String> {
    let finished = |hash: Md5| u64_at(&hash.finalize(), 0).unwrap_or(0);
    if bytes < THREAD_BYTES {
        let mut stream = Stream::new(packed, Sink::Here(Md5::new()));
        read(&mut stream)?;
        stream.pass_on().map_err(|error| error.to_string())?;
        return match stream.sink {
            Sink::Here(hash) => Ok(finished(hash)),
            Sink::Thread { .. } => Err("the hash went elsewhere".to_owned()),
        };
    }
    thread::scope(|scope| {
        let (full, received) = sync_channel::<Vec<u8>>(CHUNKS);
        let (empty, returned) = sync_channel::<Vec<u8>>(CHUNKS);
        let hasher = scope.spawn(move || {
            let mut hash = Md5::new();
            for chunk in received {
                hash.update(&chunk);
                // The reader may be gone, or have enough of them.
                let _ = empty.try_send(chunk);
            }
            hash
        });
        let mut stream = Stream::new(packed, Sink::Thread { full, returned });
        let result = read(&mut stream).and_then(|()| stream.pass_on().map_err(|error| error.to_string()));
        // Ends the hasher's loop.
        drop(stream);
        let hash = hasher.join().map_err(|_| "the hashing thread failed".to_owned())?;
        result.map(|()| finished(hash))
    })
}

/// A reader that passes on what was read of it.
pub(super) struct Stream<R> {
    packed: R,
    sink: Sink,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were consumed.
    at: usize,
    /// Bytes of the chunks before.
    before: u64,
}

enum Sink {
    Here(Md5),
    Thread { full: SyncSender<Vec<u8>>, returned: Receiver<Vec<u8>> },
}

impl<R: Read> Stream<R> {
    fn new(packed: R, sink: Sink) -> Self {
        Self { packed, sink, chunk: Vec::new(), at: 0, before: 0 }
    }

    /// Bytes consumed so far.
    pub(super) fn position(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Gives the chunk to the hash and leaves an empty one.
    fn pass_on(&mut self) -> io::Result<()> {
        self.before += self.chunk.len() as u64;
        self.at = 0;
        match &mut self.sink {
            Sink::Here(hash) => {
                hash.update(&self.chunk);
                self.chunk.clear();
            }
            Sink::Thread { full, returned } => {
                let next = returned.try_recv().unwrap_or_default();
                // The receiver lives as long as the sender.
                full.send(std::mem::replace(&mut self.chunk, next)).map_err(io::Error::other)?;
                self.chunk.clear();
            }
        }
        Ok(())
    }
}

impl<R: Read> BufRead for Stream<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.chunk.len() {
            self.pass_on()?;
            self.chunk.reserve_exact(CHUNK_BYTES);
            self.packed.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.chunk)?;
        }
        Ok(self.chunk.get(self.at..).unwrap_or(&[]))
    }

    fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.chunk.len());
    }
}

impl<R: Read> Read for Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to hash, with reads that end within and between chunks.
    #[test]
    fn the_hash_is_that_of_all_bytes() {
        let bytes: Vec<u8> = (0..6u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        for length in [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 << 20, 6 << 20] {
            let bytes = &bytes[..length];
            let mut copy = Vec::new();
            let hash = read(bytes, length as u64, |stream| {
                stream.by_ref().take(5).read_to_end(&mut copy).unwrap();
                assert_eq!(stream.position(), 5.min(length as u64));
                stream.read_to_end(&mut copy).map(|_| ()).map_err(|error| error.to_string())
            });
            assert_eq!(copy, bytes);
            assert_eq!(hash, Ok(u64_at(&Md5::digest(bytes), 0).unwrap()));
        }
    }
}
