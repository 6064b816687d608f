import { useKnownText } from '../app/texts'

/** Returns a function that names why an attempt to deliver a callback failed, from the code that the log has. */
export function useFailureName(): (failure: string) => string {
  const known = useKnownText()
  return (failure) => {
    const redirect = /^http (3\d\d)$/.exec(failure)?.[1]
    if (redirect !== undefined) return known('callbacks.failure.redirect', { status: redirect })!
    return known(`callbacks.failure.${failure}`) ?? failure.replace(/^http /, 'HTTP ')
  }
}
