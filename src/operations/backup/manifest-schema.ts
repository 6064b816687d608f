import type { Static } from '@sinclair/typebox'
import { Type } from '../../kernel/typebox.js'

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Bytes = Type.Integer({ minimum: 0 })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])
const closed = { additionalProperties: false }

/** What one backup holds: docs/operating/backup.md says the same for people. */
export const Manifest = Type.Object(
  {
    format: Type.Literal('transferd backup 1'),
    createdAt: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' }),
    /** Null where the log is on a server. */
    log: Type.Union([
      Type.Object(
        {
          events: Type.Integer({ minimum: 0 }),
          /** Of the last event; null in an empty log. */
          position: Nullable(Type.String({ pattern: '^\\d{1,19}$' })),
          lastEventAt: Nullable(Type.String()),
        },
        closed,
      ),
      Type.Null(),
    ]),
    /** The signed checkpoint of the tree that is in it. */
    checkpoint: Nullable(Type.String({ maxLength: 65_536 })),
    /** What it is encrypted to: age's recipients, or `passphrase`; empty when it is not. */
    encryptedTo: Type.Array(Type.String({ maxLength: 4_096 })),
    /** In the order in which their bytes follow one another in the parts. */
    files: Type.Array(
      Type.Object(
        {
          // Never above the directory that is restored to.
          path: Type.String({ pattern: '^(?!\\.)[A-Za-z0-9._-]+(/(?!\\.)[A-Za-z0-9._-]+)*$', maxLength: 1_024 }),
          bytes: Bytes,
          sha256: Sha256,
        },
        closed,
      ),
      { minItems: 1 },
    ),
    chunks: Type.Array(
      Type.Object(
        {
          /** SHA-256 of its bytes. */
          id: Sha256,
          bytes: Bytes,
          /** Of the file that it is stored as, compressed and perhaps encrypted. */
          storedSha256: Sha256,
          /** The name of the key it is encrypted with; null when it is not. */
          key: Nullable(Type.String({ pattern: '^[0-9a-f]{16}$' })),
        },
        closed,
      ),
    ),
  },
  closed,
)

export type Manifest = Static<typeof Manifest>
export type Chunk = Manifest['chunks'][number]
