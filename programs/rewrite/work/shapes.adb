--  Work for Ada's compiler, and a program of tasks that meet, and an exception.
with Ada.Text_IO;
procedure Shapes is
   protected Total is
      procedure Add (Value : Integer);
      function Sum return Integer;
   private
      Held : Integer := 0;
   end Total;
   protected body Total is
      procedure Add (Value : Integer) is
      begin
         Held := Held + Value;
      end Add;
      function Sum return Integer is (Held);
   end Total;
   task type Worker;
   task body Worker is
   begin
      for I in 1 .. 500 loop
         Total.Add (I mod 7);
      end loop;
   end Worker;
   Field : array (1 .. 3) of Integer := (1, 2, 3);
begin
   declare
      Workers : array (1 .. 4) of Worker;
   begin
      null;
   end;
   Ada.Text_IO.Put_Line (Integer'Image (Total.Sum));
   Ada.Text_IO.Put_Line (Integer'Image (Field (Total.Sum)));
exception
   when Constraint_Error => Ada.Text_IO.Put_Line ("caught");
end Shapes;
