import { useEffect } from 'react'
import { ChangePassword } from './ChangePassword'
import { EntryLayout } from './EntryLayout'
import { SignOut } from './SignOut'
import { useText } from './texts'

/** The password that an administrator gave is good for this alone. */
export function FirstPassword() {
  const text = useText()
  useEffect(() => {
    document.title = text('shell.titleOf', { page: text('shell.firstPassword') })
  }, [text])
  return (
    <EntryLayout>
      <h1>{text('shell.firstPassword')}</h1>
      <p>{text('shell.firstPasswordHelp')}</p>
      <ChangePassword currentLabel={text('shell.givenPassword')} />
      <SignOut />
    </EntryLayout>
  )
}
