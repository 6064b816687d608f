import { lazyRouteComponent } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { noteNoResponse, tryNow, whenConnected } from '../api/connection'

/**
 * Loads a page when it is opened. Without a connection the current page stays, and the page opens when the service responds again. If it
 * is still missing then, a new version is served, and the router reloads the document.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<{ readonly [name in Name]: ComponentType }>,
  name: Name,
) {
  return lazyRouteComponent(async () => {
    try {
      return await load()
    } catch {
      noteNoResponse()
      tryNow()
      await whenConnected()
      return load()
    }
  }, name)
}
