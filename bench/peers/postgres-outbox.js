/**
 * Fastify and PostgreSQL, a common design: one prepared statement writes the transfer's row, its event and the message for the outbox,
 * which takes one round trip and one commit per create.
 */
import pg from 'pg'
import { readOptions, serveCreates } from './app.js'

/** The size of the pool. 8, 16 and 32 were equally fast on two cores. */
const connections = 32

const tables = `
  CREATE TABLE transfers (
    tracking_id uuid PRIMARY KEY,
    merchant_id uuid NOT NULL,
    kind text NOT NULL,
    reference_id text NOT NULL,
    amount_minor bigint NOT NULL,
    status smallint NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    username text NOT NULL,
    payment_method integer NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (merchant_id, kind, reference_id)
  );
  CREATE TABLE events (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tracking_id uuid NOT NULL,
    revision integer NOT NULL,
    type text NOT NULL,
    data jsonb NOT NULL,
    UNIQUE (tracking_id, revision)
  );
  CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tracking_id uuid NOT NULL,
    message jsonb NOT NULL
  );`

const create = `
  WITH transfer AS (
    INSERT INTO transfers VALUES ($1, $2, 'deposit', $3, $4, 1, $5, $6, $7, $8, $9)
    ON CONFLICT (merchant_id, kind, reference_id) DO NOTHING
    RETURNING tracking_id
  ), event AS (
    INSERT INTO events (tracking_id, revision, type, data) SELECT tracking_id, 0, 'DepositCreated', $10 FROM transfer
  ), message AS (
    INSERT INTO outbox (tracking_id, message) SELECT tracking_id, $11 FROM transfer
  )
  SELECT tracking_id FROM transfer`

const { merchant, database } = readOptions()
const pool = new pg.Pool({ ...database, max: connections })
await pool.query(tables)

await serveCreates(merchant, async (transfer) => {
  const { trackingId, merchantId, referenceId, amountMinor, userId, name, username, paymentMethod, at } = transfer
  const event = JSON.stringify(transfer)
  const message = JSON.stringify({ trackingId, referenceId, status: 1, amountMinor })
  const values = [trackingId, merchantId, referenceId, amountMinor, userId, name, username, paymentMethod, at]
  const { rows } = await pool.query({ name: 'create', text: create, values: [...values, event, message] })
  if (rows.length > 0) return trackingId
  const known = await pool.query({
    name: 'known',
    text: `SELECT tracking_id FROM transfers WHERE merchant_id = $1 AND kind = 'deposit' AND reference_id = $2`,
    values: [merchantId, referenceId],
  })
  return known.rows[0].tracking_id
})
