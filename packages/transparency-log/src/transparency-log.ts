export { fromBase64 } from './canonical-base64.js'
export {
  type Checkpoint,
  formatCheckpoint,
  type OpenedCheckpoint,
  openCheckpoint,
  parseCheckpoint,
} from './checkpoint.js'
export { DirectoryTiles } from './directory-tiles.js'
export { MemoryTiles } from './memory-tiles.js'
export { emptyRoot, type Hash, hashBytes, leafHash, nodeHash, rootOver } from './merkle-hash.js'
export {
  formatSigner,
  formatVerifier,
  generateSigner,
  type NoteKeyKind,
  type NoteSigner,
  type NoteVerifier,
  parseSigner,
  parseVerifier,
  signerOf,
} from './note-keys.js'
export {
  cosign,
  formatNote,
  type Note,
  type NoteSignature,
  openNote,
  parseNote,
  signNote,
  type VerifiedSignature,
  verifiedSignatures,
} from './signed-note.js'
export {
  type BundleKind,
  bundleOf,
  filesSince,
  hashesOnLevel,
  levelsOf,
  maxEntryBytes,
  readBundle,
  readHashes,
  type TileLevel,
  type TileStore,
  tilePath,
  tileWidth,
  widthOf,
} from './tiles.js'
export { TreeAppender } from './tree-appender.js'
export { TreeReader } from './tree-reader.js'
export { VerificationError } from './verification-error.js'
export { type TreeHead, verifyConsistency, verifyInclusion } from './verify-proofs.js'
export { addCheckpointPath, addCheckpointRequest, seenSize, withCosignature } from './witness.js'
