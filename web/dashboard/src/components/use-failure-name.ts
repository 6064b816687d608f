import { useKnownText } from '../app/texts'

/** Returns a function that names why an attempt to deliver a callback failed, from the code that the log has. */
export function useFailureName(): (failure: string) => string {
  const known = useKnownText()
  return (failure) => known(`callbacks.failure.${failure}`) ?? failure.replace(/^http /, 'HTTP ')
}
