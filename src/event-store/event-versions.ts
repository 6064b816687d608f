import type { TObject } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import { TypeCompiler } from '../kernel/typebox.js'
import type { JsonObject } from './event-store.js'

/** An event that does not have the stored format: damage, or a version newer than this program. */
export class EventFormatError extends Error {
  override readonly name: string = 'EventFormatError'
}

const plainPath = /^(\/[A-Za-z0-9]{1,64}){1,8}$/
const maxShownType = 64

/** Whoever wrote the event chose its type: what is told of it must neither fill a page nor move a terminal's cursor. */
export function shownType(type: string): string {
  return type.slice(0, maxShownType).replaceAll(/[^\w$.-]/g, '?')
}

/** Turns stored data of one version into the next one's. Pure: it runs at every read. */
export type Upcaster = (data: JsonObject) => JsonObject

type PerType<Value> = { readonly [type: string]: readonly Value[] | undefined }

export interface EventVersions {
  /** Checks data that is about to be stored against the newest version, which is returned. @throws EventFormatError */
  newest(type: string, data: unknown): number
  /** Stored data in the newest version. @throws EventFormatError */
  upcast(type: string, version: unknown, data: JsonObject): JsonObject
}

/**
 * `schemas[type][n]` is version n + 1, `upcasters[type][n]` leads from it to the next.
 * @throws Error when a version has no way to the newest: found when the program starts, not at the first old event
 */
export function eventVersions(schemas: PerType<TObject>, upcasters: PerType<Upcaster>): EventVersions {
  const types = new Map(
    Object.entries(schemas).map(([type, versions = []]) => {
      const steps = upcasters[type] ?? []
      if (versions.length !== steps.length + 1) {
        throw new Error(`${type} has ${versions.length} versions and ${steps.length} upcasters`)
      }
      return [type, { checks: versions.map(compiledWhenUsed), steps }]
    }),
  )

  function check(type: string, version: number, data: unknown): void {
    const schema = types.get(type)?.checks[version - 1]?.()
    if (schema?.Check(data)) return
    // The path only: a value could be a customer's, and so could the name of a field that nobody knows.
    const path = schema?.Errors(data).First()?.path || '/'
    const shown = plainPath.test(path) ? path : '/'
    throw new EventFormatError(`${shownType(type)} version ${version} does not fit its schema at ${shown}`)
  }

  return {
    newest(type, data) {
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
      const upcast = known.steps.slice(version - 1).reduce((older, step) => step(older), data)
      // An upcaster's mistake would otherwise be folded into states and read models.
      check(type, known.checks.length, upcast)
      return upcast
    },
  }
}

/** A command of the command line meets a few types only, and compiling all of them is a good part of its time. */
function compiledWhenUsed(schema: TObject): () => TypeCheck<TObject> {
  let compiled: TypeCheck<TObject> | undefined
  return () => {
    compiled ??= TypeCompiler.Compile(schema)
    return compiled
  }
}
