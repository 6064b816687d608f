import { lazyRouteComponent } from '@tanstack/react-router'
import { type ComponentType, lazy } from 'react'
import { noteNoResponse, tryNow, whenConnected } from '../api/connection'
import { allTexts } from './all-texts'

/**
 * Loads a page when it is opened. Without a connection the current page stays, and the page opens when the service responds again. If it
 * is still missing then, a new version is served, and the router reloads the document. Only the first page is shown without the other texts.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<{ readonly [name in Name]: ComponentType }>,
  name: Name,
  texts: Promise<void> = allTexts,
) {
  return lazyRouteComponent(async () => {
    const [module] = await Promise.all([loadWhenConnected(load), texts])
    return module
  }, name)
}

export async function loadWhenConnected<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch {
    noteNoResponse()
    tryNow()
    await whenConnected()
    return load()
  }
}

const parts: (() => Promise<unknown>)[] = []

/**
 * Returns a component that the first page does not need. `loadOtherParts` loads it after that page, before a user opens it, because later
 * there may be no connection or a new version.
 */
export function lazyPart<Props extends object>(load: () => Promise<ComponentType<Props>>, texts = allTexts) {
  parts.push(load)
  return lazy(async () => {
    const [component] = await Promise.all([loadWhenConnected(load), texts])
    return { default: component }
  })
}

/** Loads the parts of the pages so far, and those that these contain. */
export function loadOtherParts(): void {
  for (const load of parts.splice(0)) load().then(loadOtherParts, () => undefined)
}
