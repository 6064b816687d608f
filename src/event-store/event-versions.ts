import { type TObject, type TypeCheck, TypeCompiler } from '../kernel/typebox.js'
import type { JsonObject } from './event-store.js'

/** The stored data of an event does not have the expected format: it is damaged, or a newer program wrote it. */
export class EventFormatError extends Error {
  override readonly name: string = 'EventFormatError'
}

const plainPath = /^(\/[A-Za-z0-9]{1,64}){1,8}$/
const maxShownType = 64

/** Returns the event type for a message. Its writer chose it, so it must neither fill a page nor move the cursor of a terminal. */
export function shownType(type: string): string {
  return type.slice(0, maxShownType).replaceAll(/[^\w$.-]/g, '?')
}

/** A version of an event that is no longer written. */
export interface OlderVersion {
  readonly schema: TObject
  /** Turns the data of this version into the next one's. It is pure, because it runs on every read. */
  readonly upcast: (data: JsonObject) => JsonObject
}

export interface EventVersions {
  /** Checks data that is about to be stored against the newest version, and returns its number. @throws EventFormatError */
  checkNewest(type: string, data: unknown): number
  /** Returns stored data in the newest version. @throws EventFormatError */
  upcast(type: string, version: unknown, data: JsonObject): JsonObject
}

/** Creates the versions of all events from their newest schemas and their older versions, oldest first. Version numbers start at 1. */
export function eventVersions(
  newest: { readonly [type: string]: TObject },
  older: { readonly [type: string]: readonly OlderVersion[] },
): EventVersions {
  const types = new Map(
    Object.entries(newest).map(([type, schema]) => {
      const steps = older[type] ?? []
      return [type, { steps, checks: [...steps.map((each) => each.schema), schema].map(compiledWhenUsed) }]
    }),
  )

  function check(type: string, version: number, data: unknown): void {
    const schema = types.get(type)?.checks[version - 1]?.()
    if (schema?.Check(data)) return
    // Only the path: a value may be a customer's, and so may the name of an unknown field.
    const path = schema?.Errors(data).First()?.path || '/'
    const shown = plainPath.test(path) ? path : '/'
    throw new EventFormatError(`${shownType(type)} version ${version} does not fit its schema at ${shown}`)
  }

  return {
    checkNewest(type, data) {
      const version = types.get(type)?.checks.length ?? 0
      check(type, version, data)
      return version
    },
    upcast(type, version, data) {
      const known = types.get(type)
      if (!known || typeof version !== 'number' || !known.checks[version - 1]) {
        const shown = typeof version === 'number' ? version : typeof version
        throw new EventFormatError(`unknown event ${shownType(type)} version ${shown}`)
      }
      check(type, version, data)
      if (version === known.checks.length) return data
      const upcast = known.steps.slice(version - 1).reduce((stored, step) => step.upcast(stored), data)
      // Otherwise states and read models would be built from a mistake of an upcaster.
      check(type, known.checks.length, upcast)
      return upcast
    },
  }
}

/** Compiles a schema when it is first used: a command of the CLI reads a few types only, and compiling all of them takes long. */
function compiledWhenUsed(schema: TObject): () => TypeCheck<TObject> {
  let compiled: TypeCheck<TObject> | undefined
  return () => {
    compiled ??= TypeCompiler.Compile(schema)
    return compiled
  }
}
