import { api } from '../api/api-client'
import { useAction } from '../api/use-action'
import { Button } from '../components/Button'
import { notify } from '../components/Toasts'
import { setSession } from './current-session'
import { useText } from './texts'

export function useSignOut() {
  const text = useText()
  const { start, pending } = useAction({
    run: () =>
      api.send('DELETE', '/session').catch((error: Error) => {
        notify(text('errors.unknown'), 'bad')
        throw error
      }),
    onSuccess: () => setSession(null),
  })
  return { signOut: () => start(), pending }
}

export function SignOut() {
  const text = useText()
  const { signOut, pending } = useSignOut()
  return (
    <Button look="quiet" onPress={signOut} pending={pending}>
      {text('shell.signOut')}
    </Button>
  )
}
